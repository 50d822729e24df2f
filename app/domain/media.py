"""Media types of the bodies that the process of a session encodes."""

JSON = "application/json"
NPY = "application/x-npy"
NPZ = "application/x-npz"
SAFETENSORS = "application/vnd.safetensors"
TEXT = "text/plain"
DOT = "text/vnd.graphviz"
