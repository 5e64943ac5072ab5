"""What trials make us expect of every node: the model that guides choices and proves nothing."""
