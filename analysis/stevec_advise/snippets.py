"""Settings as configurations of caches, ready to be put in. Each rule is for one class of URLs; of several rules that
match, the first one counts.

nginx: nginx.org/en/docs/http/ngx_http_proxy_module.html. Varnish: varnish-cache.org/docs/7.1/reference/vcl.html.
Cloudflare: the rules of the phase http_request_cache_settings,
developers.cloudflare.com/cache/how-to/cache-rules/settings/.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from stevec_advise.classes import EXTENSIONS, FILES, UrlClass
from stevec_advise.setting import Setting

Rule = tuple[UrlClass, Setting]
# As nginx's `proxy_cache_valid`: a lifetime is for these. Without it an error would stay for as long as a page.
ERRORS_VCL = """  if (beresp.status != 200 && beresp.status != 301 && beresp.status != 308) {
    set beresp.ttl = 1s;
    set beresp.uncacheable = true;
  }"""
PURGE_VCL = """
acl purgers { "127.0.0.1"; }
sub vcl_recv {
  if (req.method == "PURGE") {
    if (client.ip !~ purgers) { return (synth(405)); }
    return (purge);
  }
}
"""
# In Cloudflare's rules, a lifetime of -1 is `no-store`.
NO_STORE = -1
# Cloudflare stores such an answer, and asks each time.
ORIGIN_ASKS = ", with Cache-Control: no-cache from the origin"
ESCAPED = re.compile(r"\\(.)")
PREFIX = re.compile(r"\^((?:[A-Za-z0-9._~/-]|\\[.~-])+)")


def nginx(rules: Sequence[Rule]) -> str:
    """`location` blocks for a server that has a `proxy_cache` and an upstream `origin`. The answers' own Cache-Control
    is not looked at: the cache keeps to these rules."""
    blocks = [_nginx_location(url_class, setting) for url_class, setting in rules]
    return "# For a server {} with a proxy_cache zone named pages and an upstream named origin.\n" + "\n".join(blocks)


def _nginx_location(url_class: UrlClass, setting: Setting) -> str:
    pattern, way = (url_class.pattern[4:], "~*") if url_class.pattern.startswith("(?i)") else (url_class.pattern, "~")
    lines = [f"# {url_class.name}: {setting.words}", f'location {way} "{pattern}" {{']
    lines.append("  proxy_pass http://origin;")
    if setting.family == "none":
        lines += ["  proxy_cache off;", "}"]
        return "\n".join(lines) + "\n"
    lines += ["  proxy_cache pages;", "  proxy_cache_lock on;", "  proxy_cache_revalidate on;"]
    lines.append("  proxy_ignore_headers Cache-Control Expires X-Accel-Expires;")
    lines.append(f"  proxy_cache_valid 200 301 308 {setting.lifetime_s:g}s;")
    if setting.window_s:
        lines += ["  proxy_cache_use_stale updating;", "  proxy_cache_background_update on;"]
    lines.append("}")
    return "\n".join(lines) + "\n"


def varnish(rules: Sequence[Rule]) -> str:
    """Subroutines of VCL 4.1, which go before the site's own."""
    response = _chain(rules, 'regsub(bereq.url, "\\?.*", "")', _varnish_response)
    text = "# Varnish joins subroutines of one name: put this before your own.\n"
    text += f"sub vcl_backend_response {{\n{ERRORS_VCL}{response}}}\n"
    if any(setting.family == "purge" for _, setting in rules):
        text += PURGE_VCL
    return text


def _varnish_response(setting: Setting) -> list[str]:
    if setting.family == "none":
        return ["set beresp.uncacheable = true;"]
    if setting.lifetime_s is None:
        return ["set beresp.ttl = 0s;", "set beresp.grace = 0s;", "set beresp.keep = 1d;"]
    return [
        f"set beresp.ttl = {setting.lifetime_s:g}s;",
        f"set beresp.grace = {setting.window_s:g}s;",
        "set beresp.keep = 1d;",
    ]


def _chain(rules: Sequence[Rule], path: str, lines_of: Callable[[Setting], list[str]]) -> str:
    text = ""
    for url_class, setting in rules:
        body = "".join(f"    {line}\n" for line in lines_of(setting))
        text += f' elsif ({path} ~ "{url_class.pattern}") {{\n    # {url_class.name}: {setting.words}\n{body}  }}'
    return text + "\n"


def cloudflare(rules: Sequence[Rule]) -> str:
    """The rules as JSON, for PUT …/rulesets/phases/http_request_cache_settings/entrypoint. Of several that match, the
    last one counts, so they are in the reverse order."""
    written = [_cloudflare_rule(url_class, setting) for url_class, setting in reversed(rules)]
    return json.dumps({"rules": written}, indent=2) + "\n"


def _cloudflare_rule(url_class: UrlClass, setting: Setting) -> dict[str, Any]:
    parameters: dict[str, Any] = {"cache": setting.family != "none"}
    if setting.lifetime_s is not None:
        parameters["edge_ttl"] = {
            "mode": "override_origin",
            "default": round(setting.lifetime_s),
            "status_code_ttl": [{"status_code_range": {"from": 400, "to": 599}, "value": NO_STORE}],
        }
        parameters["serve_stale"] = {"disable_stale_while_updating": not setting.window_s}
    elif setting.revalidates:
        parameters["edge_ttl"] = {"mode": "respect_origin"}
    return {
        "description": f"{url_class.name}: {setting.words}{ORIGIN_ASKS if setting.revalidates else ''}",
        "expression": _cloudflare_expression(url_class.pattern),
        "action": "set_cache_settings",
        "action_parameters": parameters,
        "enabled": True,
    }


def _cloudflare_expression(pattern: str) -> str:
    """`matches` needs a plan with regular expressions, so the usual classes do without."""
    if pattern == FILES.pattern:
        names = " ".join(f'"{name}"' for name in EXTENSIONS)
        return f"http.request.uri.path.extension in {{{names}}}"
    prefix = PREFIX.fullmatch(pattern)
    if prefix:
        return f'starts_with(http.request.uri.path, "{ESCAPED.sub(lambda match: match[1], prefix[1])}")'
    escaped = pattern.replace("\\", "\\\\").replace('"', '\\"')
    return f'http.request.uri.path matches "{escaped}"'
