/** Reading a QR code with the camera, and a card by NFC where the browser can. @module */
import { useEffect, useRef, useState } from 'preact/hooks'

const PAUSE_MS = 150
/** Larger pictures take longer to search and find no more. */
const MAX_SIDE_PIXELS = 720

interface ScanProps {
  /** What is looked for, such as “card token”. */
  readonly what: string
  found(text: string): void
  close(): void
}

const CAMERA_PROBLEMS: Readonly<Record<string, string>> = {
  NotAllowedError:
    'This page may not use the camera. Allow it in the settings of the browser, or type the code.',
  NotFoundError: 'There is no camera on this device. Type the code instead.',
  NotReadableError: 'Another program uses the camera.',
}

/** Looks at the camera's pictures until there is a QR code in one. @returns a function that ends it */
const look = (video: HTMLVideoElement, found: (text: string) => void, failed: (why: string) => void) => {
  let stream: MediaStream | undefined
  let ended = false
  const end = (): void => {
    ended = true
    for (const track of stream?.getTracks() ?? []) track.stop()
  }
  const openCamera = async (): Promise<MediaStream> => {
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } })
    // It may be there only once nobody waits for it any more, or what it is read with could not be had.
    if (ended) end()
    return stream
  }
  const run = async (): Promise<void> => {
    const [{ default: imported }, opened] = await Promise.all([import('jsqr'), openCamera()])
    // Types say that the default is the module; what it is depends on who bundles it.
    const jsQR = imported as unknown as typeof imported.default
    if (ended) return
    video.srcObject = opened
    await video.play()
    const canvas = document.createElement('canvas')
    const context = canvas.getContext('2d', { willReadFrequently: true })
    while (!ended && context !== null) {
      const scale = Math.min(1, MAX_SIDE_PIXELS / Math.max(video.videoWidth, video.videoHeight, 1))
      canvas.width = Math.max(1, Math.round(video.videoWidth * scale))
      canvas.height = Math.max(1, Math.round(video.videoHeight * scale))
      context.drawImage(video, 0, 0, canvas.width, canvas.height)
      const picture = context.getImageData(0, 0, canvas.width, canvas.height)
      const code = jsQR(picture.data, picture.width, picture.height)
      if (code !== null && code.data !== '') {
        end()
        found(code.data)
        return
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
  run().catch((error: unknown) => {
    if (ended) return
    end()
    const name = error instanceof Error ? error.name : ''
    failed(CAMERA_PROBLEMS[name] ?? `The camera can’t be used: ${error}`)
  })
  return end
}

export const Scan = ({ what, found, close }: ScanProps) => {
  const video = useRef<HTMLVideoElement>(null)
  const [failure, setFailure] = useState<string | undefined>()
  useEffect(() => (video.current === null ? undefined : look(video.current, found, setFailure)), [])
  return (
    <div class="scan">
      <p role="status">{failure ?? `Hold the QR code of the ${what} before the camera.`}</p>
      <video
        ref={video}
        muted
        playsInline
        hidden={failure !== undefined}
        aria-label="Picture of the camera"
      />
      <p>
        <button type="button" class="plain" onClick={close}>
          Stop looking
        </button>
      </p>
    </div>
  )
}

/** Web NFC, which few browsers have. */
interface NdefReader {
  scan(options: { signal: AbortSignal }): Promise<void>
  onreading: ((event: { message: { records: { recordType: string; data?: DataView }[] } }) => void) | null
}

export const hasNfc = (): boolean => 'NDEFReader' in globalThis

/** Waits for a card. @throws DOMException when it isn't allowed; the reason of the signal when it was stopped */
export const readCard = (signal: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    const { NDEFReader } = globalThis as typeof globalThis & { NDEFReader: new () => NdefReader }
    const reader = new NDEFReader()
    signal.addEventListener('abort', () => reject(signal.reason))
    reader.onreading = ({ message }) => {
      const record = message.records.find(({ recordType }) => recordType === 'text')
      if (record?.data !== undefined) resolve(new TextDecoder().decode(record.data))
    }
    reader.scan({ signal }).catch(reject)
  })
