/** The console: one application for all addresses under /console. @module */
import { mount } from './console/app.tsx'
import { byId } from './elements.ts'

mount(byId('console', HTMLElement))
