/** Words of names that say little about who is meant, and short forms of given names. @module */

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Titles and forms of address. They are left out of names wherever they stand. */
export const HONORIFICS = words(`
  mr mrs ms miss mx dr prof professor sir dame lord lady madam madame mme mlle monsieur herr frau senor senora sr sra
  jr hon honourable honorable rev reverend fr imam mullah maulavi maulana mawlawi molvi hajji haji hadji alhaj alhaji sheikh
  shaykh shaikh sheik ustad ustaz qari hafiz sayyid sayed seyyed seyed syed gen general col colonel lt maj major capt captain brig brigadier adm
  admiral sgt cmdr commander marshal ing dipl mag esq phd md
`)

/** Legal forms of companies. They are left out of names unless they stand first. */
export const LEGAL_FORMS = words(`
  ltd limited llc llp lp inc incorporated corp corporation co company plc gmbh mbh ag kg kgaa ohg ug sa sas sarl sasu eurl
  snc srl spa sapa sl slu bv nv vof ab as asa aps oy oyj kft zrt nyrt doo dd ad eood ood sro sp zoo oao ooo zao pao ao tov
  pat pjsc jsc ojsc cjsc pte pty sdn bhd kk gk est fze fzc fzco dmcc lda ltda eireli cv
`)

/** Particles and function words: they count, but little. */
export const PARTICLES = words(`
  al el as ad an ar ul ur ibn bin ben bint binti van von zu der den ten ter de del della di da do dos das du des la le les
  lo y e i and und et of the for in
`)

/** Given names and what people make of them; one group a line. */
const NICKNAME_GROUPS = `
alexander alexandr aleksandr alex aleksander sasha sascha sandro alejandro alessandro iskander
alexandra aleksandra sandra sasha
alexei aleksei alexey alyosha
anastasia nastya nastia
andrew andy andrei andrey andre andreas drew
anna annie ann anne anya hannah nancy
anthony antony tony anton antonio
barbara barb babs
benjamin ben benny benji
catherine katherine kathryn cathy kathy kate katie kitty ekaterina yekaterina katya katarina
charles charlie chuck carl karl carlos
christopher chris kit topher
daniel dan danny daniil
david dave davey daud dawud davud
deborah debbie deb
dmitry dmitri dmitriy dima mitya
edward ed eddie ted teddy ned eduardo eduard
elizabeth elisabeth liz lizzie beth betty eliza bess elisa yelizaveta lisa
eugene gene yevgeny evgeny evgeni zhenya
francis frank francesco francisco paco pancho franz
frederick frederic fred freddy friedrich fritz
gabriel gabe jibril
george jorge georg yuri georgi giorgi jurgen
gregory greg grigory grigori grisha
henry harry hank heinrich enrique henri
isaac ishaq yitzhak
jacob jake yakov yaqub jacques
james jim jimmy jamie jaime
jessica jess jessie
john jack johnny jon ivan johann johannes hans juan jean giovanni yahya vanya
jonathan jon nathan
joseph joe joey jose josef giuseppe yusuf yousef youssef pepe
joshua josh
kenneth ken kenny
lawrence larry lars lorenzo laurent
leonard leo len lenny leonid
louis lou luis luigi ludwig
lyudmila ludmila luda
margaret maggie meg peggy greta margarita rita marguerite
maria mary marie masha molly maryam mariam miriam
matthew matt matteo mateo matthias
michael mike mick micky mikhail misha miguel michel mikael
nicholas nick nicky nikolai nikolay nicolas kolya niko
natalia natalya natasha natalie
olga olya
patricia pat patty tricia trish
patrick pat paddy
paul pavel pablo paolo pasha
pedro peter pete pyotr petr piotr pierre pietro petya boutros
philip phil felipe philippe
rebecca becky becca
richard rick ricky dick rich ricardo
robert rob robbie bob bobby roberto bert
samuel sam sammy
sergei sergey serge sergio seryozha
solomon suleiman sulayman suleyman
stephen steven steve stefan esteban stephane etienne
susan sue suzy susanna susannah
svetlana sveta lana
tatiana tatyana tanya tania
theodore ted teddy theo fyodor fedor
thomas tom tommy tomas
timothy tim timmy timofey
valentina valya
vasily vasili vasya basil
victor viktor vitya
vladimir volodya vova vlad volodymyr
vladislav vlad slava
william bill billy will willy liam guillermo wilhelm guillaume
vyacheslav slava
yulia julia yuliya julie
zachary zach zack
abraham ibrahim avraham abe
`

/** Name → every name that may stand for it, itself left out. */
export const NICKNAMES: ReadonlyMap<string, ReadonlySet<string>> = (() => {
  const found = new Map<string, Set<string>>()
  for (const line of NICKNAME_GROUPS.trim().split('\n')) {
    const group = line.split(' ')
    for (const name of group) {
      const others = found.get(name) ?? new Set()
      for (const other of group) if (other !== name) others.add(other)
      found.set(name, others)
    }
  }
  return found
})()
