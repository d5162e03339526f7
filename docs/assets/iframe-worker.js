// A browser starts no worker from a file:// page, and search is one. There, an empty frame runs the
// worker's script instead; elsewhere this changes nothing. As with a worker, a message arrives later
// and as a copy.
if (location.protocol === "file:") {
  const later = (receive, data) => setTimeout(receive, 0, { data: structuredClone(data) })

  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = data => later(event => this.onmessage?.(event), data)
      this.loaded = new Promise((resolve, reject) => {
        const script = inside.document.createElement("script")
        script.src = url
        script.onload = resolve
        script.onerror = reject
        inside.document.body.append(script)
      })
      this.loaded.catch(error => this.onerror?.(error))
    }

    postMessage(data) {
      this.loaded.then(() => later(event => this.frame.contentWindow?.onmessage(event), data), () => {})
    }

    terminate() {
      this.frame.remove()
    }
  }
}
