"""HTTP: requests, pools of endpoints, what may be sent when, what went wrong, what it cost."""
