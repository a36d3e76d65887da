/**
 * Legal forms of companies: how each is written out, abbreviated and translated, by where it is used. After the entity legal
 * forms of ISO 20275, whose code list GLEIF keeps (CC0), and the wordings of published sanctions lists.
 * @module
 */
import { plainWord, SYLLABIC } from './scripts.ts'

/** What kind of liability and membership a form gives: forms of one kind are translations of each other. */
export type FormKind =
  | 'limited'
  | 'stock'
  | 'partnership'
  | 'state'
  | 'cooperative'
  | 'foundation'
  | 'association'
  | 'sole'
  | 'company'

/** One legal form of one law. */
export interface LegalForm {
  /** As it is usually abbreviated. */
  readonly code: string
  readonly kind: FormKind
}

/**
 * Kind, usual abbreviation, where it is used (ISO 3166-1, `-` for many), and all spellings. Different abbreviations on one line are one
 * form, such as the Russian one beside its English translation.
 */
const TABLE = `
limited|LLC|US -|llc; l l c; lc; limited liability company; limited liability co; ltd liability company; ltd liability co; ltd liab co; company with limited liability; limited liability corporation; society with limited liability; enterprise with limited liability; professional limited liability company; pllc
limited|LLC|RU UA BY KG|ooo; o o o; obshchestvo s ogranichennoy otvetstvennostyu; obschestvo s ogranichennoy otvetstvennostyu; obshchestvo s ogranichennoi otvetstvennostyu; obshchestvo s ogranichennoi otvetstvennostiu; ооо; общество с ограниченной ответственностью; tov; tzov; tovarystvo z obmezhenoyu vidpovidalnistyu; tovarystvo z obmezhenoiu vidpovidalnistiu; тов; тзов; товариство з обмеженою відповідальністю; таа; таварыства з абмежаванай адказнасцю; osoo; осоо
limited|LLC|RU|odo; обществo с дополнительной ответственностью; общество с дополнительной ответственностью; одо; additional liability company; company with additional liability; obshchestvo s dopolnitelnoy otvetstvennostyu
limited|LLP|KZ|too; t o o; тоо; товарищество с ограниченной ответственностью; tovarishchestvo s ogranichennoy otvetstvennostyu; жшс; жауапкершілігі шектеулі серіктестік; limited liability partnership; llp; l l p; limited liability part
limited|Ltd|GB IE HK IN -|ltd; limited; ltd company; limited company; company limited; co ltd; co limited; company ltd; ltd co; private limited company; private company limited by shares; private limited; private ltd; pvt ltd; pvt limited; pvt; p ltd; p limited; pte ltd; pte limited; pte; private co ltd; pty ltd; pty limited; pty; proprietary limited; lda limited; ltd sti; limitd; unlimited company; unltd; ltee; limitee; cyf; cyfyngedig; limited by guarantee; company limited by guarantee; unlimited; ultd; ulc; unlimited liability company; proprietary; proprietary ltd; guarantee ltd; no liability; лимитед; лтд; лимитэд; ltd by guarantee
limited|GmbH|DE AT CH LI|gmbh; g m b h; gesellschaft mit beschrankter haftung; gesellschaft mit beschraenkter haftung; gesellschaft m b h; gesellschaft mbh; ges mbh; ges m b h; gesmbh; mbh; m b h; ggmbh; gemeinnutzige gmbh; ug; ug haftungsbeschrankt; unternehmergesellschaft; unternehmergesellschaft haftungsbeschrankt; гмбх
limited|SARL|FR BE LU CH MA TN DZ LB|sarl; s a r l; s a rl; sarlu; eurl; e u r l; societe a responsabilite limitee; ste a responsabilite limitee; entreprise unipersonnelle a responsabilite limitee; societe a responsabilite limitee unipersonnelle; suarl; sprl; s p r l; societe privee a responsabilite limitee; sarlau; sarl au
limited|SRL|IT RO ES MD AR BO PE UY MX|srl; s r l; srls; societa a responsabilita limitata; societa a responsabilita limitata semplificata; societate cu raspundere limitata; societatea cu raspundere limitata; sociedad de responsabilidad limitada; s de r l; s de rl; sde rl de cv; s de r l de c v; s de rl de cv; sociedad de responsabilidad limitada de capital variable; soc a responsabilita limitata; società unipersonale
limited|SL|ES CL CO EC|sl; s l; slu; s l u; sociedad limitada; sociedad limitada unipersonal; compania limitada; cia ltda; cia limitada; sociedad de responsabilidad limitada unipersonal; ltda; limitada; sociedad limitada nueva empresa; slne
limited|Lda|PT BR AO MZ|lda; ltda me; sociedade limitada; sociedade por quotas; sociedade unipessoal; unipessoal lda; eireli; empresa individual de responsabilidade limitada; sociedade de responsabilidade limitada
limited|BV|NL BE CW|bv; b v; besloten vennootschap; besloten vennootschap met beperkte aansprakelijkheid; bvba; b v b a; besloten vennootschap met beperkte aansprakelijkheid bvba
limited|d.o.o.|RS HR SI BA ME MK|doo; d o o; drustvo s ogranicenom odgovornoscu; drustvo sa ogranicenom odgovornoscu; druzba z omejeno odgovornostjo; drustvo so ogranicena odgovornost; дооел; dooel; друштво са ограниченом одговорношћу; доо
limited|Sp. z o.o.|PL|spzoo; sp zoo; sp z o o; sp z oo; spolka z o o; spolka z oo; spolka zoo; spolka z ograniczona odpowiedzialnoscia; zoo
limited|s.r.o.|CZ SK|sro; s r o; spol s r o; spol sro; spolecnost s rucenim omezenym; spolocnost s rucenim obmedzenym
limited|Kft.|HU|kft; korlatolt felelossegu tarsasag
limited|EOOD|BG|ood; o o d; eood; e o o d; druzhestvo s ogranichena otgovornost; ednolichno druzhestvo s ogranichena otgovornost; оод; еоод; дружество с ограничена отговорност
limited|ApS|DK|aps; a p s; anpartsselskab
limited|OÜ|EE|ou; osauhing
limited|SIA|LV|sia; sabiedriba ar ierobezotu atbildibu
limited|UAB|LT|uab; uzdaroji akcine bendrove
limited|Oy|FI|oy; osakeyhtio
limited|AB|SE FI|ab; aktiebolag; aktiebolaget; a b
limited|AS|NO|as; a s; aksjeselskap
limited|EPE|GR CY|epe; e p e; etaireia periorismenis efthynis; etairia periorismenis efthinis; επε; εταιρεια περιορισμενης ευθυνης; ike; i k e; ικε; idiotiki kefalaiouchiki etaireia
limited|Ltd. Şti.|TR|ltd sti; limited sirketi; limited sti; limited sirket; sti; sirketi; ticaret limited sirketi; ticaret ltd sti; tic ltd sti; sanayi ve ticaret limited sirketi; san ve tic ltd sti
limited|SHPK|AL XK|shpk; sh p k; shoqeri me pergjegjesi te kufizuar
limited|MMC|AZ|mmc; m m c; mehdud mesuliyyetli cemiyyet
limited|MChJ|UZ|mchj; mas uliyati cheklangan jamiyat; masuliyati cheklangan jamiyat; мчж
limited|Sdn Bhd|MY BN|sdn bhd; sendirian berhad; sdn
limited|WLL|AE BH KW QA|wll; w l l; with limited liability; fz llc; fzllc; fzc; fz co; fzco; fze; f z e; f z c; fz; free zone establishment; free zone company; free zone co; dmcc; dwc llc; spc; ذ م م; ذمم; ش ذ م م; شركة ذات مسؤولية محدودة; شركة ذات مسئولية محدودة; ذات مسؤولية محدودة; ذات المسؤولية المحدودة
limited|GK|JP|gk; godo kaisha; goudou kaisha; 合同会社; 有限会社; yugen kaisha; yk
limited|有限公司|CN TW HK|有限公司; 有限责任公司; 责任有限公司; youxian gongsi; youxian zeren gongsi; 有限責任公司
limited|Yuhan|KR|yuhan hoesa; 유한회사; yuhan heosa; 유한책임회사
limited|Ltd|IL|baam; bam; בעמ; חברה בעמ; בעירבון מוגבל; חברה פרטית
limited|TNHH|VN|tnhh; cong ty tnhh; cong ty trach nhiem huu han; trach nhiem huu han
limited|BGH|KG AM GE|sps; s p s; shps; spe limited
limited|Co., Ltd.|TH|borisat chamkat; บริษัท จํากัด; จำกัด; บริษัท
stock|JSC|RU UA BY KZ -|jsc; j s c; jsco; joint stock company; joint stock co; joint stock society; joint stock corporation; stock company; stock corporation; jt stock co; jtstk co; joint stock; joint stock firm; share company; shareholding company; company limited by shares; company by shares; limited by shares; shareholders company; company ltd by shares; ao; a o; aktsionernoe obshchestvo; aktsionernoye obshchestvo; aktsionernoe obshestvo; aksionernoe obshchestvo; акционерное общество; ао; акціонерне товариство; ат; aktsionerne tovarystvo; акцыянернае таварыства; акционерлік қоғамы; ақ; акционерная компания; aktsionernaya kompaniya
stock|PJSC|RU UA|pjsc; p j s c; public joint stock company; public jsc; pao; p a o; publichnoe aktsionernoe obshchestvo; publichnoye aktsionernoye obshchestvo; пао; публичное акционерное общество; pat; публічне акціонерне товариство; пат; publichne aktsionerne tovarystvo; public stock company; public shareholding company; pat public joint stock company; publ jsc
stock|OJSC|RU BY|ojsc; o j s c; ojsco; open joint stock company; open jsc; oao; o a o; otkrytoe aktsionernoe obshchestvo; otkrytoye aktsionernoye obshchestvo; оао; открытое акционерное общество; aat; адкрытае акцыянернае таварыства; ааt; open stock company; vat; відкрите акціонерне товариство; ват; open shareholding company
stock|CJSC|RU BY AM|cjsc; c j s c; closed joint stock company; closed jsc; zao; z a o; zakrytoe aktsionernoe obshchestvo; zakrytoye aktsionernoye obshchestvo; зао; закрытое акционерное общество; zat; зат; закрите акціонерне товариство; closed stock company; private joint stock company; private jsc; prjsc; pjs; prat; prat private joint stock company; приватне акціонерне товариство; прат; nepublichnoe aktsionernoe obshchestvo; non public joint stock company; npao; нао; нпао; непубличное акционерное общество; zaт; zatk; closed shareholding company; joint stock company of closed type; aozt; aoot; ptоо; private shareholding company
stock|AG|DE AT CH LI|ag; a g; aktiengesellschaft; akt ges
stock|KGaA|DE|kgaa; kommanditgesellschaft auf aktien; ag and co kgaa; gmbh and co kgaa; se and co kgaa
stock|SE|EU|se; societas europaea; european company
stock|SA|FR BE CH LU ES PT GR PL RO LATAM|sa; s a; societe anonyme; sociedad anonima; sociedade anonima; spolka akcyjna; societate pe actiuni; s a a; saa; sociedad anonima abierta; sociedad anonima cerrada; s a c; sac; sau; s a u; sociedad anonima unipersonal; spolka akcyjn; anonimi etaireia; anonymi etaireia; anonimi eteria; ae; a e; αε; ανωνυμη εταιρεια; ανωνυμος εταιρεια; saog; saoc; saoag; sal; s a l; societe anonyme libanaise; ش م ل; societe par actions; spa algerie; societe anonyme monegasque; sam
stock|SA de CV|MX|sa de cv; s a de c v; s a de cv; sociedad anonima de capital variable; sapi de cv; s a p i de c v; sab de cv; sociedad anonima promotora de inversion de capital variable; sociedad anonima bursatil de capital variable; cv
stock|SAS|FR CO|sas; s a s; sasu; societe par actions simplifiee; sociedad por acciones simplificada; societe par actions simplifiee unipersonnelle; simplified joint stock company
stock|SpA|IT CL DZ|spa; s p a; societa per azioni; sociedad por acciones; societe par actions spa; sapa; societa in accomandita per azioni
stock|NV|NL BE CW SR|nv; n v; naamloze vennootschap
stock|A/S|DK|aktieselskab
stock|ASA|NO|asa; allmennaksjeselskap
stock|Oyj|FI|oyj; abp; julkinen osakeyhtio; ab publ
stock|d.d.|HR SI BA|dd; d d; dionicko drustvo; delniska druzba; dionicarsko drustvo; ad beograd; akcionarsko drustvo; akcionersko drustvo; акционарско друштво
stock|AD|BG RS ME MK|ad; a d; ead; e a d; aktsionerno druzhestvo; ednolichno aktsionerno druzhestvo; ад; еад; акционерно дружество
stock|a.s.|CZ SK TR|as cz; akciova spolecnost; akciova spolocnost; anonim sirketi; anonim sirket; a s anonim; aş; anonim ortakligi; tas; turk anonim sirketi; san ve tic as; sanayi ve ticaret as; sanayi ve ticaret anonim sirketi
stock|Rt.|HU|zrt; nyrt; rt; zartkoruen mukodo reszvenytarsasag; zartkoru reszvenytarsasag; nyilvanosan mukodo reszvenytarsasag; reszvenytarsasag
stock|AS|LV EE LT|akciju sabiedriba; aktsiaselts; akcine bendrove
stock|plc|GB IE|plc; p l c; public limited company; public ltd company; public limited; public company limited; public co ltd; pcl; public company; public company limited by shares; ccc; pub co ltd
stock|Inc|US CA PH|inc; pc; p c; professional corporation; pbc; ibc; international business company; international business corporation; incorporated; incorporation; corp; corporation; corporated; incorporado; corporacion; corporacao; ink; инк; корпорация; корпорація; korporatsiya; korporatsiia; us inc; co inc; company inc; incorporee
stock|Tbk|ID|pt; perseroan terbatas; pt tbk; tbk; persero; pt persero
stock|Berhad|MY|bhd; berhad
stock|KK|JP|kk; k k; kabushiki kaisha; kabushiki gaisha; kabushikigaisha; kabushikikaisha; 株式会社; 株式會社; 株式会
stock|Jusik|KR|jusik hoesa; chusik hoesa; 주식회사; 주; jushik hoesa
stock|股份|CN TW|股份有限公司; 股份公司; 控股股份有限公司; gufen youxian gongsi; gufen gongsi; 股份有限責任公司
stock|PJS|IR AE|pjs company; pvt joint stock; private joint stock; public joint stock; sherkat sahami; sahami khass; sahami am; sherkate sahami khas; psc; p s c; p j s c uae; ش م ع; ش م خ; شركة مساهمة عامة; شركة مساهمة; مساهمة عامة; مساهمة خاصة; شركت سهامی خاص; سهامی خاص; سهامی عام; شركة مساهمة خاصة; k s c; ksc; kscp; kscc; q s c; qsc; bsc; b s c; sjsc; saudi joint stock company; ssc
stock|QSC|UZ|aj; aksiyadorlik jamiyati; aksiyadorlik tijorat; asc; asj; qsc az; aciq sehmdar cemiyyeti; qapali sehmdar cemiyyeti; acik sehmdar cemiyyeti
stock|CP|VN|cong ty co phan; co phan
partnership|LP|US GB CA -|lp; l p; limited partnership; lllp; rllp; rlllp; slp; ilp; registered limited liability partnership; separate limited partnership; limited partners; limited liability limited partnership
partnership|GP|US GB -|gp; general partnership; partnership; partners
partnership|KG|DE AT CH|kg; k g; kommanditgesellschaft; gmbh and co kg; gmbh and co; gmbh co kg; gmbh u co kg; ag and co kg; mbh and co kg; gmbh and cie kg; gmbh and co ohg; ug and co kg; se and co kg
partnership|OHG|DE AT|ohg; offene handelsgesellschaft; og; offene gesellschaft; gbr; gesellschaft burgerlichen rechts; partg; partgmbb; partnerschaftsgesellschaft
partnership|SNC|FR IT BE|snc; s n c; societe en nom collectif; societa in nome collettivo; en nom collectif; sociedad colectiva; sencrl; senc
partnership|SCS|FR IT LU ES|scs; s c s; societe en commandite simple; societe en commandite; s en c; sociedad en comandita; societa in accomandita semplice; sca; societe en commandite par actions; sicav; sc; societe civile; sci; scp
partnership|VOF|NL BE|vof; v o f; vennootschap onder firma; maatschap; commanditaire vennootschap; cv nl
partnership|KT|RU|polnoe tovarishchestvo; kommanditnoe tovarishchestvo; коммандитное товарищество; полное товарищество
partnership|ΟΕ|GR|oe; o e; ee; omorrythmi etaireia; ετεροροuθμη εταιρεια; οε; εε
partnership|HB|SE FI|hb; handelsbolag; kb; kommanditbolag; ky; kommandiittiyhtio; k s; kommanditselskab; kd
partnership|spj|PL CZ|spolka jawna; sp j; sp k; spolka komandytowa; vos; verejna obchodni spolecnost; komanditni spolecnost; spolka cywilna
partnership|合伙|CN|合伙企业; 有限合伙; 普通合伙; hehuo qiye
state|FGUP|RU|fgup; federal state unitary enterprise; fsue; federalnoe gosudarstvennoe unitarnoe predpriyatie; federalnoye gosudarstvennoye unitarnoye predpriyatiye; фгуп; федеральное государственное унитарное предприятие; federal state unitary enterprise fgup
state|GUP|RU UA BY|gup; state unitary enterprise; sue; gosudarstvennoe unitarnoe predpriyatie; gosudarstvennoye unitarnoye predpriyatiye; гуп; государственное унитарное предприятие; republican unitary enterprise; rup; рэспубліканскае унітарнае прадпрыемства; руп; республиканское унитарное предприятие; municipal unitary enterprise; mup; муп; state enterprise; dp; державне підприємство; дп; gp state enterprise; unitary enterprise; up; unitary company; private unitary enterprise; chup; chp; private enterprise; privatne pidpryyemstvo; приватне підприємство; пп; gosudarstvennoe predpriyatie; казенное предприятие; kazennoe predpriyatie; federal state treasury enterprise; fkp; фкп; унитарное предприятие; state company; state corporation; gosudarstvennaya korporatsiya; государственная корпорация
state|FGBU|RU|fgbu; fgbuo; fgbou vo; federal state budgetary institution; federal state budget institution; federal state budgetary educational institution; federal state autonomous institution; fgau; fgaou; fgaou vo; фгбу; федеральное государственное бюджетное учреждение; фгбоу во; фгау; федеральное государственное автономное учреждение; gbu; гбу; gku; fku; federal government institution; state budgetary institution; autonomous institution
state|EPIC|FR|epic; etablissement public; etablissement public a caractere industriel et commercial; epe sa; entreprise publique economique
state|AöR|DE|aor; anstalt des offentlichen rechts; kor; korperschaft des offentlichen rechts; eigenbetrieb
cooperative|Coop|US GB FR ES IT|coop; co op; co op limited; co op ltd; cooperative; co operative; cooperativa; societe cooperative; sociedad cooperativa; societa cooperativa; scrl; scarl; s coop; soc coop; cooperative society; sce; cvba; cooperatief; kooperativ; кооператив; производственный кооператив; proizvodstvennyy kooperativ; production cooperative
cooperative|eG|DE AT|eg; e g; eingetragene genossenschaft; genossenschaft; egmbh; reg gen mbh
cooperative|UA|NL|ua; coop ua; cooperatie ua; ba
foundation|Foundation|US GB -|foundation; charitable foundation; fund; charity fund; charitable fund; stiftung; fondation; fundacion; fundacao; fondazione; stichting; fundatia; fundacja; nadace; nadacia; alapitvany; saatio; stiftelse; vakfi; vakif; waqf; bonyad; благотворительный фонд; fond; фонд; anstalt; trust; idaryat; مؤسسة; بنياد; וקף; קרן; 기금; 基金会
association|EEIG|EU|eeig; ewiv; geie; gie; eesv; european economic interest grouping; groupement d interet economique
association|Association|US FR ES -|association; assoc; assn; asociacion; associacao; associazione; verein; ev; e v; eingetragener verein; asbl; a s b l; association sans but lucratif; vzw; vereniging; ano; автономная некоммерческая организация; ано; autonomous non profit organization; autonomous nonprofit organization; autonomous noncommercial organization; avtonomnaya nekommercheskaya organizatsiya; non profit organization; nonprofit organization; noncommercial organization; nko; нко; npo; non governmental organization; ngo; ассоциация; assotsiatsiya; ssociety; dernegi; 協会; 协会; stowarzyszenie; zs; forening; union of legal entities; public organization; ooo public organization; общественная организация
sole|Sole proprietor|RU UA KZ|ip; individual entrepreneur; individualnyy predprinimatel; individualny predprinimatel; ип; индивидуальный предприниматель; fop; фоп; фізична особа підприємець; sole proprietor; sole proprietorship; sole trader; ek; e k; einzelunternehmen; eingetragener kaufmann; ei; entreprise individuelle; eirl; e i r l; private entrepreneur; et; ет; едноличен търговец; obrt; szp; est; establishment; etablissement; ets; etablissements; esteblishment; мчп; чп; chastnoe predpriyatie; частное предприятие; toko
company|Co|-|company; co; compagnie; compania; companhia; compagnia; cie; cia; ca; gesellschaft; firma; firm; enterprise; predpriyatie; предприятие; підприємство; компания; компанія; kompaniya; kompaniia; shirkat; sherkat; sharikat; sharika; شركة; شرکت; حברה; 公司; gongsi; kaisha; 会社; 會社; 회사; hoesa; etaireia; eteria; εταιρεια; spolka; spolecnost; spolocnost; drustvo; druzhestvo; sirket; ortakligi; vennootschap; maatschappij; societe; ste; sociedad; soc; societa; sociedade; obshchestvo; товариство; общество; tovarystvo; חברה; cong ty; limited partnership company; and co; and company; und co; et cie; y cia; e cia; and sons; and bros; kompanija; kompanie; shoqeri; tarsasag; uyushmasi
`

interface Entry extends LegalForm {
  /** Stands for something else within a name too, so that it counts only where forms stand: at either end. */
  readonly short: boolean
}

/** One word this short may be a word of any name. */
const MAX_SHORT_CHARACTERS = 4
/** Words that are forms wherever they stand. */
const UNAMBIGUOUS = new Set('gmbh kgaa pjsc ojsc cjsc sarl llc ltd'.split(' '))
/** Words that also begin names, so that they are forms only at the end. */
const NEVER_LEADING = new Set(
  'limited incorporated corp inc ltd co sal sam san rt sc ca ae oe ee ei et se sa as ab ad da lc cv ky kd up ua ba ike est an dd sti fond fund trust fz og hb kb ek eg ev mas partners fundatia foundation cooperative foundation partnership association union'.split(
    ' ',
  ),
)

const MAX_FORM_WORDS = 8

const FORMS: ReadonlyMap<string, Entry> = (() => {
  const found = new Map<string, Entry>()
  for (const line of TABLE.trim().split('\n')) {
    const [kind, code, , spellings] = line.split('|') as [FormKind, string, string, string]
    for (const spelling of spellings.split(';')) {
      const words = spelling.replaceAll(SYLLABIC, ' $& ').trim().split(/\s+/).map(plainWord)
      const text = words.join(' ')
      const short = words.length === 1 && text.length <= MAX_SHORT_CHARACTERS && !UNAMBIGUOUS.has(text)
      if (!found.has(text)) found.set(text, { code, kind, short })
      const spaced = [...text].join(' ')
      if (short && text.length > 1 && !found.has(spaced)) found.set(spaced, { code, kind, short: true })
    }
  }
  return found
})()

export interface FormFound {
  readonly form: LegalForm
  /** Positions of the first word and behind the last. */
  readonly from: number
  readonly to: number
}

const formAt = (words: readonly string[], from: number): FormFound | undefined => {
  for (let to = Math.min(words.length, from + MAX_FORM_WORDS); to > from; to--) {
    const form = FORMS.get(words.slice(from, to).join(' '))
    if (form !== undefined) return { form, from, to }
  }
  return undefined
}

const isShort = ({ from, to }: FormFound, words: readonly string[]): boolean =>
  FORMS.get(words.slice(from, to).join(' '))?.short ?? false

/** The longest form that ends where the last words do. */
const formBefore = (words: readonly string[], to: number): FormFound | undefined => {
  for (let from = Math.max(0, to - MAX_FORM_WORDS); from < to; from++) {
    const form = FORMS.get(words.slice(from, to).join(' '))
    if (form !== undefined) return { form, from, to }
  }
  return undefined
}

/**
 * The legal forms of a name, which stand behind it, before it, or between its words.
 * @param words as `plainWord` makes them
 * @returns in no particular order, without overlaps; empty for a name that would have no other word left
 */
export const findLegalForms = (words: readonly string[]): FormFound[] => {
  const found: FormFound[] = []
  let end = words.length
  for (
    let form = formBefore(words, end);
    form !== undefined && form.from > 0;
    form = formBefore(words, end)
  ) {
    found.push(form)
    end = form.from
  }
  let start = 0
  for (let form = formAt(words, start); form !== undefined && form.to < end; form = formAt(words, start)) {
    if (NEVER_LEADING.has(words.slice(form.from, form.to).join(''))) break
    found.push(form)
    start = form.to
  }
  for (let at = start + 1; at + 1 < end; at++) {
    const form = formAt(words, at)
    if (form === undefined || form.to > end || form.form.kind === 'company' || isShort(form, words)) continue
    found.push(form)
    at = form.to - 1
  }
  return found
}

export type FormAgreement = 'same' | 'translated' | 'missing' | 'differs'

/**
 * How the forms of two names agree. A word for "company" alone says nothing.
 * @returns undefined where neither has one
 */
export const compareForms = (
  first: readonly LegalForm[],
  second: readonly LegalForm[],
): FormAgreement | undefined => {
  const [a, b] = [first, second].map((forms) => forms.filter(({ kind }) => kind !== 'company')) as [
    LegalForm[],
    LegalForm[],
  ]
  if (a.length === 0 && b.length === 0) return undefined
  if (a.length === 0 || b.length === 0) return 'missing'
  if (a.some(({ code }) => b.some((other) => other.code === code))) return 'same'
  return a.some(({ kind }) => b.some((other) => other.kind === kind)) ? 'translated' : 'differs'
}
