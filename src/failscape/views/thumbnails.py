"""How large thumbnails are, in pixels of the longer side, wherever pictures are shown small."""

#: In the static report, which is kept small to be sent.
REPORT_SIDE = 224

#: On the page that proves a repair: three models side by side.
PROOF_SIDE = 96

#: In the viewer: lists, cards, and cards on fine screens. A page asks for one of these.
VIEWER_SIDES = (96, 192, 384)

#: In notebooks, which keep every picture in their own file.
NOTEBOOK_SIDE = 96
