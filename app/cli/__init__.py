"""The commands of `adjoint`, a file each."""
