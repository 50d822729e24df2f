"""Types of bodies that arrays come and go in."""

JSON = "application/json"
NPY = "application/x-npy"
NPZ = "application/x-npz"
SAFETENSORS = "application/vnd.safetensors"
