"""How arrays, and documents that hold some, are spelled: by the server and by the processes of sessions."""
