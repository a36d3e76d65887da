/** Words of names that say little about who is meant, and numbers written as words. @module */

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Titles and forms of address that nobody is called by. */
const TITLES = words(`
  mr mrs ms miss mx dr prof professor madam madame mme mlle monsieur frau senor senora sra jr honourable honorable reverend colonel lt capt
  captain brigadier sgt cmdr dipl esq phd doktor gospodin gospozha
`)

/** Titles that are names of other people, and numbers that are: `Hafiz Saeed`, `Pan Wei`, `Xi Jinping`. */
export const ALSO_NAMES = words(`
  sir dame lord lady herr sr hon rev fr imam mullah maulavi maulana mawlawi molvi hajji haji hadji alhaj alhaji hajj sheikh shaykh shaikh sheik
  ustad ustaz qari hafiz sayyid sayed seyyed seyed syed gen general col maj major brig adm admiral commander marshal ing mag md pan pani
  xi vi ten
`)

/** Whether a word may be left out of a name as a title, wherever it stands. */
export const isTitle = (letters: string): boolean =>
  TITLES.has(letters) || (ALSO_NAMES.has(letters) && !NUMBERS.has(letters))

/** Particles and function words: they count, but little. */
const PARTICLES = words(`
  al el as ad an ar ul ur az at ibn bin ben bint binti binte bt van von zu zum zur der den ten ter de del della dello di da do dos das du des la le les
  lo los las y e i et of for in on at to oglu ogly uulu kyzy qizi abu abou abi umm um ould st saint san d l dal af av ap mac mc ha na po
`)

/** What companies and authorities call what they do. */
const GENERIC = words(`
  company companies group holding holdings international trading trade trader traders general enterprise enterprises industries industry industrial
  services service investment investments management development construction engineering technology technologies tech solutions systems system
  shipping marine maritime transport transportation logistics export import exports imports commercial commerce business corporation consulting
  consultancy consultants center centre institute organization organisation organizacion association foundation fund society committee commission council ministry
  department agency office bureau bank banking banco banque bankasi financial finance financiera capital insurance exchange credit oil gas petroleum
  petrochemical petrochemicals chemical chemicals energy power electric electronics electronic mining metal metals steel food foods agricultural
  agro production productions products manufacturing factory plant works project projects design research scientific science university college school
  academy hospital medical pharmaceutical real estate property properties hotel hotels travel tourism media telecom telecommunications communications
  network networks data digital online global world worldwide universal united national state federal central public private new first great grand union
  corp inc ltd co partners partnership ventures venture associates brothers bros sons family house store stores market markets supply supplies equipment
  machinery motors auto automotive aviation airlines air airways aerospace aircraft defense defence security military army force forces party front
  movement liberation islamic popular revolutionary people peoples republic democratic
  gruppa grupp kompaniya torgovyy torgovyi dom zavod kombinat nauchno proizvodstvennoe proizvodstvennyy predpriyatie obedinenie tsentr institut gruppe handel handels
  comercial comercializadora inmobiliaria inversiones grupo servicios transportes industria industrias constructora distribuidora agropecuaria importadora exportadora
  groupe commerce commerciale generale industrie sirketi sanayi ticaret insaat dis ve shirkat sherkat sharikat trust
  keji jituan maoyi gongye touzi fazhan shiye muyeok
`)

/** Countries, their people and large cities: companies are called after where they are. */
const GEOGRAPHIC = words(`
  american america usa us uk british britain english england german germany deutsche deutsch deutschland french france italian italy spanish spain russian russia
  rossiya rossiyskaya ukrainian ukraine ukraina belarusian belarus chinese china zhongguo japan japanese nippon korea korean iran iranian iraq iraqi syria syrian lebanon lebanese
  turkey turkish turk turkiye israel israeli egypt egyptian saudi arabia arabian arab emirates uae dubai sharjah gulf kuwait qatar bahrain oman yemen yemeni jordan libya libyan
  sudan sudanese somalia somali kenya nigeria nigerian africa african south north east west eastern western northern southern asia asian europe european euro pacific atlantic
  mediterranean caribbean latin india indian pakistan pakistani bangladesh afghanistan afghan kazakhstan kazakh uzbekistan kyrgyz tajikistan turkmenistan azerbaijan armenia georgia
  moscow moskva moskovskiy petersburg kiev kyiv minsk london paris berlin beijing shanghai shenzhen guangzhou hong kong hongkong taiwan singapore malaysia indonesia thailand thai vietnam
  viet nam philippines myanmar burma tehran baghdad damascus beirut istanbul cairo khartoum karachi kabul havana cuba cuban cubana mexico mexicana mexican colombia colombian colombiana venezuela venezolana panama brasil
  brazil brazilian argentina peru chile ecuador nicaragua guatemala honduras cyprus malta swiss switzerland austria austrian poland polish polska hungary hungarian czech romania
  bulgaria bulgarian serbia serbian croatia greece greek hellenic netherlands dutch belgium sweden swedish norway norwegian denmark danish finland finnish crimea crimean donetsk
  luhansk lugansk siberian ural volga baltic black sea middle international pyongyang dprk
`)

/** How much a word counts by what it is, before how rare it is. @param letters as it reads in Latin letters */
export const kindFactor = (letters: string, isPerson: boolean): number => {
  if (letters.length === 1) return 0.4
  if (PARTICLES.has(letters)) return 0.25
  if (isTitle(letters)) return 0.4
  if (!isPerson && GENERIC.has(letters)) return 0.45
  if (!isPerson && GEOGRAPHIC.has(letters)) return 0.55
  return isPatronymic(letters) ? 0.7 : 1
}

/** Whether a word by itself can mean somebody. */
export const isTelling = (letters: string): boolean => letters.length > 1 && !PARTICLES.has(letters)

/** Words that many companies have in their names. */
export const isCommonWord = (letters: string): boolean => GENERIC.has(letters) || GEOGRAPHIC.has(letters)

/** `petrovich`, `petrovna`, as Slavic names have them between given and family name. */
export const isPatronymic = (letters: string): boolean =>
  letters.length > 6 &&
  /(?:[oe]vich|[oe]wicz|ovna|evna|yevich|ievich|ivna|ovych|evych|inichna)$/.test(letters)

const numbered = (text: string, from: number): [string, string][] =>
  text
    .trim()
    .split(/\s+/)
    .flatMap((spellings, i) => spellings.split('/').map((word): [string, string] => [word, String(from + i)]))

/** Numbers as words and in Roman numerals, without those that are letters or words of names too. */
export const NUMBERS: ReadonlyMap<string, string> = new Map([
  ...numbered('zero', 0),
  ...numbered(
    `one/first/1st two/second/ii three/third/iii four/fourth/iv five/fifth six/sixth/vi seven/seventh/vii eight/eighth/viii nine/ninth/ix
     ten/tenth eleven/eleventh/xi twelve/twelfth/xii thirteen/thirteenth/xiii fourteen/fourteenth/xiv fifteen/fifteenth/xv sixteen/xvi
     seventeen/xvii eighteen/xviii nineteen/xix`,
    1,
  ),
  ['xx', '20'],
  ['xxi', '21'],
  ['hundred', '100'],
  ['thousand', '1000'],
])
/** The numbers that stand in names of persons. */
export const GENERATIONS = words('ii iii iv second third fourth')
export const TENS: ReadonlyMap<string, number> = new Map(
  'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ').map((word, i) => [word, 20 + 10 * i]),
)
