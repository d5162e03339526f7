"""Webhook triggers."""

from __future__ import annotations

import hashlib
import hmac
import re
from math import ceil

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from ...embedded_server import answer, listen
from ...errors import InvalidInput
from ...text.terminal import counted
from ...types import MINUTE, Micros
from ..role import Webhook
from .base import Firing, TriggerThread, Wiring

LARGEST_BODY = 1_000_000  # bytes
OTHER_PORT = "Give the webhook another `port`, or 0 for any free one."


class WebhookThread(TriggerThread):
    """Fire with the body of each valid request. Listens on localhost only."""

    def __init__(self, trigger: Webhook, wiring: Wiring) -> None:
        super().__init__(wiring, "webhook")
        self._trigger = trigger
        self._secret = _secret(trigger, wiring)
        self._accepted: list[Micros] = []  # times within the last minute
        self._socket = listen("127.0.0.1", trigger.port, advice=OTHER_PORT)
        self.port: int = self._socket.getsockname()[1]
        """Actual port, if the role says 0."""
        self.about = f"listening for {trigger.method} at http://127.0.0.1:{self.port}{trigger.path}"

    def attend(self) -> None:
        """Serve requests until stopped."""
        answer(
            self._answer,
            self._socket,
            self._wiring.stop,
            interface="asgi3",
        )

    def release(self) -> None:
        """Release the port."""
        self._socket.close()

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        request = Request(scope, receive)
        try:
            self._check_address(request)
            self._take(request, await _body(request))
            response = JSONResponse({"status": "accepted"}, 202)
        except HTTPException as refusal:
            response = JSONResponse(
                {"error": refusal.detail},
                refusal.status_code,
                refusal.headers,
            )
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    def _check_address(self, request: Request) -> None:
        if request.scope["path"] != self._trigger.path:
            raise HTTPException(404, "there is nothing here")
        if request.method != self._trigger.method:
            raise HTTPException(
                405,
                f"use {self._trigger.method}",
                {"Allow": self._trigger.method},
            )

    def _take(self, request: Request, body: bytes) -> None:
        self._check_sender(request, body)
        prompt = _text(body)
        self._check_rate()
        # The text is untrusted, whoever signed it.
        if not self._fire(
            Firing("webhook", prompt, {"path": self._trigger.path, "trust": "external"})
        ):
            raise HTTPException(
                503,
                "too much is waiting already, try again later",
                {"Retry-After": "60"},
            )
        # A refused request does not count against the rate.
        self._accepted.append(self._wiring.clock())

    def _check_sender(self, request: Request, body: bytes) -> None:
        if self._secret is not None:
            fitting = "sha256=" + hmac.new(self._secret, body, hashlib.sha256).hexdigest()
            signature = request.headers.get("X-Hub-Signature-256", "")
            # Constant time, so that the signature cannot be guessed byte by byte.
            if not hmac.compare_digest(fitting.encode(), signature.encode()):
                raise HTTPException(403, "X-Hub-Signature-256 is missing or does not fit the body")
        elif "Origin" in request.headers:
            # Any web page can send a request to this machine through its visitor's browser.
            raise HTTPException(
                403, "web pages may only send signed requests: give the webhook a secret"
            )

    def _check_rate(self) -> None:
        now = self._wiring.clock()
        # A time in the future, after the clock was set back, must not block requests.
        self._accepted = [at for at in self._accepted if now - MINUTE < at <= now]
        if len(self._accepted) >= self._trigger.rate_limit_rpm:
            wait = ceil((self._accepted[0] + MINUTE - now) / 1_000_000)
            raise HTTPException(
                429,
                f"too many requests, try again in {counted(wait, 'second')}",
                {"Retry-After": str(wait)},
            )


def _secret(trigger: Webhook, wiring: Wiring) -> bytes | None:
    if trigger.secret is None:
        return None

    def value(match: re.Match[str]) -> str:
        found = wiring.environ.get(match[1])
        if not found:
            raise InvalidInput(
                f"Environment variable {match[1]} with the secret of webhook {trigger.path} "
                f"is not set. Set it, or remove `secret` from {wiring.role.file}."
            )
        return found

    secret = re.sub(r"\$\{(\w+)\}", value, trigger.secret)
    if not secret:
        raise InvalidInput(
            f"The secret of webhook {trigger.path} is empty. Write e.g. secret: "
            f"${{WEBHOOK_SECRET}}."
        )
    # A variable may hold arbitrary bytes.
    return secret.encode(errors="surrogateescape")


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise HTTPException(413, f"a body may have {LARGEST_BODY} bytes")
    return bytes(body)


def _text(body: bytes) -> str:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HTTPException(400, f"the body is not UTF-8: {error}") from error
    if not text.strip():
        raise HTTPException(400, "the body is empty; it is the prompt")
    return text
