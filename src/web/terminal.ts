/** The till: takes payments in the browser, with and without a network. @module */
import { byId } from './elements.ts'
import { mount } from './till/app.tsx'

mount(byId('till', HTMLElement))
