"""Headless Chromium, worked as a person would: for scripts that look at pages.

Needs nothing but Python and Chromium.
"""

import base64
import json
import os
import pathlib
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request


class Browser:
    """One page of Chromium, through its debugging protocol."""

    # `local_state`: settings of the browser itself, as its file "Local State" has them.
    def __init__(self, program, size, local_state=None):
        # Processes of a browser that ends may still write there.
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        if local_state is not None:
            (pathlib.Path(self.profile.name) / "Local State").write_text(json.dumps(local_state))
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--remote-debugging-port=0", "--window-size=%d,%d" % size,
             "--user-data-dir=" + self.profile.name, "about:blank"],
            env={**os.environ, "HOME": self.profile.name}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        port_file = pathlib.Path(self.profile.name) / "DevToolsActivePort"
        last = time.monotonic() + 60
        while not port_file.exists() or "\n" not in port_file.read_text():
            if time.monotonic() > last:
                raise RuntimeError("%s does not start" % program)
            if self.process.poll() is not None:
                raise RuntimeError("%s ends at its start, with status %d" %
                                   (program, self.process.returncode))
            time.sleep(0.05)
        port = int(port_file.read_text().split()[0])
        pages = json.load(urllib.request.urlopen("http://127.0.0.1:%d/json" % port))
        url = next(p["webSocketDebuggerUrl"] for p in pages if p["type"] == "page")
        self.socket = socket.create_connection(("127.0.0.1", port))
        path = url.split(str(port), 1)[1]
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((
            "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n"
            % (path, port, key)).encode())
        reply = b""
        while b"\r\n\r\n" not in reply:
            reply += self.socket.recv(1)
        self.count = 0
        self.events = []

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()

    def read(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(min(size - len(data), 1 << 20))
            if not part:
                raise RuntimeError("the browser has gone")
            data += part
        return data

    def receive(self):
        text = b""
        while True:
            first, second = self.read(2)
            length = second & 127
            if length == 126:
                length = struct.unpack(">H", self.read(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self.read(8))[0]
            text += self.read(length)
            if first & 128:
                return json.loads(text)

    def call(self, method, **params):
        self.count += 1
        data = json.dumps({"id": self.count, "method": method, "params": params}).encode()
        if len(data) < 126:
            head = struct.pack(">BB", 129, 128 | len(data))
        elif len(data) < 1 << 16:
            head = struct.pack(">BBH", 129, 254, len(data))
        else:
            head = struct.pack(">BBQ", 129, 255, len(data))
        self.socket.sendall(head + b"\0\0\0\0" + data)
        while True:
            message = self.receive()
            if message.get("id") == self.count:
                if "error" in message:
                    raise RuntimeError("%s: %s" % (method, message["error"]))
                return message["result"]
            self.events.append(message)

    def eval(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(expression + ": " + json.dumps(result["exceptionDetails"])[:600])
        return result["result"].get("value")

    def frame(self):
        self.eval("new Promise(r => requestAnimationFrame("
                  "() => requestAnimationFrame(() => r(0))))")

    def click(self, x, y, times=1):
        for kind in ["mousePressed", "mouseReleased"]:
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                      clickCount=times)
        self.frame()

    def hover(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.frame()

    # A key by its name, such as "Enter", or the character that it types.
    def key(self, key, code=0):
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code,
                  **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
        self.frame()

    def shot(self, path):
        if path is None:
            return
        self.frame()
        png = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(png))
