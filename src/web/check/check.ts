/** The page that checks what somebody was given, in the browser. @module */
import { byId } from '../elements.ts'
import { mount } from './page.tsx'

mount(byId('check', HTMLElement))
