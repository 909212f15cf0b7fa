"""The base URL of a model endpoint: whether it is one."""

from urllib.parse import urlsplit

from wmo_kit.errors import Conflict


def host_of(base_url: str) -> str:
    """Give the host of a usable base URL. Raises Conflict for another one.

    One with a user part is not quoted: it may hold a password.
    """
    try:
        parts = urlsplit(base_url)
        host = parts.hostname or ""
    except ValueError:
        parts, host = urlsplit(""), ""
    if "@" in parts.netloc:
        raise Conflict(f"the base URL of '{host}' is unusable: it holds a user; put the key in the key's variable")
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
        raise Conflict(f"the base URL '{base_url}' is unusable: write it as 'https://HOST/v1', or 'offline'")
    return host
