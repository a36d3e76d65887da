/**
 * The system's Chromium, without a window, with a profile of its own. Where it is installed, the one that was built without
 * windows: the same engine at less than half the processor time.
 */
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'

/** Only this one has cameras. */
const WITH_DEVICES = '/usr/bin/chromium'
const WITHOUT_WINDOWS = '/usr/bin/chromium-headless-shell'

/** What a page's camera sees. */
export interface Camera {
  /** Path of its film (YUV4MPEG2), which may be another each time the camera is switched on. */
  readonly film: string
  /** Whether only a page that was granted the camera may use it; without, each may. */
  readonly mustBeGranted?: boolean
}

const cameraArguments = ({ film, mustBeGranted = false }: Camera): string[] => [
  '--use-fake-device-for-media-stream',
  `--use-file-for-fake-video-capture=${film}`,
  ...(mustBeGranted ? ['--deny-permission-prompts'] : []),
]

const optionsWith = (camera?: Camera) => {
  const usable = camera === undefined ? [WITHOUT_WINDOWS, WITH_DEVICES] : [WITH_DEVICES]
  const executablePath = process.env.CHROMIUM ?? usable.find((file) => existsSync(file))
  if (executablePath === undefined || !existsSync(executablePath)) {
    throw new Error(
      `Browser tests need Chromium at ${executablePath ?? usable.join(' or ')}: apt-get install chromium chromium-headless-shell`,
    )
  }
  return {
    executablePath,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...(camera === undefined ? [] : cameraArguments(camera)),
    ],
  }
}

/** @throws Error that says how to install it */
export const launchChromium = (camera?: Camera): Promise<Browser> => chromium.launch(optionsWith(camera))

/** One that keeps what pages keep, in a folder, until it is started there again. @throws Error as above */
export const launchInFolder = (folder: string): Promise<BrowserContext> =>
  chromium.launchPersistentContext(folder, { ...optionsWith(), locale: 'en-GB' })
