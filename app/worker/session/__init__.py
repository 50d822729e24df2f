"""The process of a session: it carries out steps in their order, and keeps what they have done."""
