/**
 * Given names beside what other languages and friends make of them. Put together by hand for this repository from common knowledge.
 * @module
 */

/** One group a line; a name may be in several. */
const GROUPS = `
aaron aron haroun harun haroon
abbas abbass
abdul abdel abdal abd
abdullah abdallah abdulla abdalla
abraham abram ibrahim avraham abe avram ebrahim brahim
adam adem
ahmad ahmed ahmet achmad akhmad akhmed akhmet ahmadu
aiman ayman aymen eiman
alan allan allen alain al
albert alberto bert al
alexander alexandr aleksandr aleksander alex sasha sascha sandro alejandro alessandro iskander oleksandr alexandre alexandros aleksandar sander xander alec alistair aliaksandr olexandr oleksander alexandru sandu lex aliaxandr
alexandra aleksandra sandra sasha oleksandra alexandria
alexei aleksei alexey alyosha oleksiy oleksii aleksey alexis aliaksei lyosha alexy oleksij
alfred fred alf alfredo
alice alicia alisa
amin ameen emin
amir emir ameer
amjad amgad
anastasia nastya nastia anastasiya anastasija stacy anastasiia
anatoly anatoliy anatoli anatolii anatol tolya
andrew andy andrei andrey andre andreas drew andriy andrii andrzej andrej anders ondrej andres andrea andrija andras endre andriej
angela angelika angelica angie anzhela anzhelika
anna annie ann anne anya hannah nancy ana hanna anita nan anja ania
anthony antony tony anton antonio antoine anatoly antoni antonis antonios toni
anwar anwer enver
arkady arkadiy arkadi
arnold arnaud arnie arne
arseny arseniy arsenii
artem artyom artiom artemy
arthur artur arturo art artie
asad asaad assad
ashraf achraf ashref
augustin augustine agustin august auguste gus augustus
aygul aigul ajgul
aziz azeez
bakhtiar bakhtiyar baxtiyar bahtiyar
barbara barb babs varvara barbie bobbie
bartholomew bart bartolome bartosz
bashir basheer bachir beshir
benjamin ben benny benji benoit binyamin benyamin veniamin bunyamin
bernard bernie bernardo bernhard
bilal belal bilel
boris borya borys
brian bryan bryant
bruno brunon
carl karl carlos charles charlie chuck carlo karel chas karol karoly carroll
catherine katherine kathryn cathy kathy kate katie kitty ekaterina yekaterina katya katarina kateryna katharina catalina caterina katarzyna kathleen kat catarina kasia
cecilia cecile celia
christian kristian chris cristian kristijan
christina kristina christine tina chris christa kristin krystyna khristina cristina
christopher chris kit topher christoph kristofer cristobal christophe krzysztof christoforos
claude claudio claudius klaus
constantine konstantin kostya kostas konstantinos constantin kostyantyn costas dinos konstanty konstantyn
cornelius cornelis kees cor
cyril kirill kiril kyrylo cyrille kyril
daniel dan danny daniil danilo danila daniyal danial daniele danylo danyil
dariusz darius dariush daryush
david dave davey daud dawud davud dawid davit dawood davide
deborah debbie deb debra dvora
denis dennis denys denise dionysios
diana dianne diane
dmitry dmitri dmitriy dima mitya dmytro dzmitry dimitri dimitrios dmitrii dimitar dimitris dimitrij
dominic dominique domingo dominik domenico dom
donald don donnie donny
dorothy dot dottie dorothea dolly
douglas doug
edgar edgardo
edward ed eddie ted teddy ned eduardo eduard edouard edvard edoardo eddy
egor yegor
eleanor ellie nell leonora eleonora elinor nelly
elena helena helen yelena olena alena lena elene helene ellen ilona alyona olenka
elias ilyas ilya eliyahu elijah ilia eli iliya illya ilja eliot elliott
elizabeth elisabeth liz lizzie beth betty eliza bess elisa yelizaveta lisa libby elizaveta isabel isabella isabelle betsy yelyzaveta elise erzsebet elzbieta
emmanuel emanuel manuel manny immanuel manolo emanuele
eric erik erich
ernest ernesto ernst ernie
eugene gene yevgeny evgeny evgeni zhenya evgenii evgeniy yevhen yevgeniy eugen eugenio yevhenii evhen yauheni
eva eve evie ewa yeva
fadi fady
faisal faysal feisal
farid fareed ferid
fatima fatma fatimah fatemeh fatimeh
felix feliks
ferdinand fernando fernand hernando
francis frank francesco francisco paco pancho franz francois franciszek frantisek ferenc frankie frans franjo fran
frederick frederic fred freddy friedrich fritz federico fredrick fryderyk fredrik freddie
gabriel gabe jibril gavriil gabriele gabor jabril gavril jibreel
galina halyna galya galyna halina
gennady gennadiy gennadi gena hennadiy hennadii genadi
geoffrey jeff jeffrey jeffery geoff godfrey gottfried jeffry
george jorge georg yuri georgi giorgi jurgen yuriy georges georgios giorgio georgy yury yurii jerzy georgiy yiorgos giorgos heorhiy heorhii jiri gheorghe jordi djordje iouri juri gyorgy jurij jurek
gerald gerard jerry gerhard gerry gerardo gherardo geraldo
german herman hermann armand armando harman
gholam ghulam golam qolam
gilbert gil gilberto
gleb hlib
gregory greg grigory grigori grisha grigoriy grzegorz gregor grigorios hryhoriy grigorii hryhorii gregorio gregoire gregg
gustav gustavo gus gustave gustaf
habib habeeb
hadi hady
hafez hafiz hafidh
haidar haydar haider hyder heydar
hamid hameed hamed hamad abdulhamid
hamza hamzah hamzeh
harold harry hal harald
hassan hasan hassen hasson
hector ektor
henry harry hank heinrich enrique henri henryk hendrik heinz henrik enrico enric genrikh hal
hisham hesham hicham
howard howie
hugh hugo hugues ugo huw
hussein husain hussain hossein husayn husein hussien huseyin hoseyn husayin hocine hussin
ignatius ignacio ignacy ignazio nacho ihnat
igor ihor
imad emad
irina iryna irene ira irena arina
isaac ishaq yitzhak isaak itzhak izhak yitzchak isac ishak
ismail esmail ismael ishmael esmaeil ismayil esmaeel smail
issa isa eisa essa isaf
ivan john jon jan johann johannes hans juan jean giovanni yahya vanya yan ian jack johnny ioannis yannis jovan janos sean joao johan jens evan ivo gianni yann giannis ivane juha juhani ioan ion hovhannes yohan yiannis shaun shawn
jacob jake yakov yaqub jacques jakob yaakov jakub iakov yakub giacomo james jim jimmy jamie jaime diego santiago tiago yacoub yaqoub iakovos jacobo seamus jago jacopo jaques iago diogo
jafar jaafar djafar jaffar giafar cafer
jalal jalaal celal djalal
jamal gamal djamel jamel cemal djamal
jamil cemil djamil gamil jameel
jane jean joan joanna johanna janet joanne jana ioanna jeanne juana giovanna janina ivana jeannette yana
jason iason
javad jawad javed jawed javaid
jeremy jeremiah jerry yirmiyahu jeremias yeremia ieremias
jerome jeronimo jerry hieronymus geronimo girolamo
jessica jess jessie
jihad gihad cihad djihad
joachim joaquin yoakim gioacchino joakim achim
jonathan jon nathan yonatan johnathan jonny
joseph joe joey jose josef giuseppe yusuf yousef youssef pepe yosef iosif osip josip jozef yusef yousuf yosif yousif beppe jozsef josep iosef joze yussuf yusif yusup yusof jussef
joshua josh yehoshua josue
judith judy yehudit
julian julio julius giulio julien yulian iulian jules
kamal kamel kemal kamaal
karim kareem kerim abdulkarim
kenneth ken kenny
khalid khaled halid chalid khalad
khalil khaleel halil jalil
ksenia xenia oksana kseniya ksenija
larisa larissa larysa
lawrence larry lars lorenzo laurent lavrenty laurence laurentius lauri lavrentiy
leonard leo len lenny leonid leonardo lev leon leonhard
leonid lenya leonyd
lev leo leon lew levi
lidia lydia lidiya lidija
louis lou luis luigi ludwig lewis ludovic luiz lajos ludovico ludvig luciano
lubov lyubov liubov luba
lucas luke lukas luka luca lukasz loukas lucian
ludmilla lyudmila
luqman lokman loqman luqmaan
lyudmila ludmila luda lyudmyla liudmila mila liudmyla
mahdi mehdi mehdy
maher mahir
mahmoud mahmud mehmood mahmood mahmut mehmud mahmod
majid majeed magid abdulmajid macit
makhmud mahmud
malik malek maleek
mansour mansur mansoor mensur
marc mark marco marcus markus marcos marek marko markos marcel marcello
margaret maggie meg peggy greta margarita rita marguerite margot margarete margherita madge marge malgorzata margo
maria mary marie masha molly maryam mariam miriam mariya marija mariia maryana mia mariana may marya
marina maryna
martin marty martijn marten martino martyn marton
marwan merwan mervan
masoud massoud masud mesud masood
matthew matt matteo mateo matthias matvey mateusz mathieu matthieu mathias matviy matti matej matyas matteus mattias
maxim max maksim maksym maximilian maxime massimo maximo maximiliano massimiliano
mazen mazin
michael mike mick micky mikhail misha miguel michel mikael mykhailo mihail mykhaylo mikhael mihai mihaly michal michele michalis mihailo mikheil mickey mikko mischa mitch mykola
mohammed muhammad mohamed mohammad mohamad muhammed mehmet mehmed mahomed mohamud muhamed mohd md muhammet mokhamed magomed muhamad muhammadu mohamet mouhamed mohamoud magomet
morris maurice mauricio moritz maurizio mavriky
moses moshe musa moussa moises mousa mose moise moisey
mubarak mobarak moubarak embarek
munir mounir moneer
murad mourad morad
mustafa mustapha mostafa moustafa mostapha mustafo
mykola nicholas nick nicky nikolai nikolay nicolas kolya niko nikola nicola mikalai nikolaos mikolaj nikos nikolaus klaus nicolae nicolo miklos nikita nikolaj mikola nicolai claus colin nykola nils niels
nabil nabeel
nadezhda nadia nadya nadiya nadezda nadja
nadir nader nadeer
najib nagib naguib nejib najeeb
nasir nasser naser nassir nasr naseer
natalia natalya natasha natalie nataliya nataliia natalija nathalie natalja natali
nikita mykyta
nizar nezar
noah nuh nouh noe
nour nur noor
oleg oleh
olga olya olha olia
omar umar omer umer oumar
osama usama ousama oussama
oscar oskar
patricia pat patty tricia trish patrizia
patrick pat paddy padraig patricio patryk patrik patrice
paul pavel pablo paolo pasha pavlo pawel pavlos paulo pal paulus poul bulus boulos
pedro peter pete pyotr petr piotr pierre pietro petya boutros petro petros petar petrus piet pieter pjotr butrus pere pekka
philip phil felipe philippe filip filippo filipp phillip felippe fulop pylyp
qadir kader qader kadir
qasim kassem kasim qassem kasem qasem ghasem kassim kacem
rachel raquel rahel shelly
rafael raphael rafail rafi raffaele rafal rafaelo rafaello
rafiq rafik rafeeq
rahim raheem rahem
rahman rehman rahmaan
raisa raissa
ralph raoul raul rolf rudolf rudy rudolph rodolfo
ramzi ramzy remzi
rashid rasheed rachid reshid
raymond ray raimundo ramon raimond ramundo
rebecca becky becca rivka rebekah rebeka
reuben ruben rouben
reza riza ridha rida
riad riyadh ryad riyaad
richard rick ricky dick rich ricardo rikard riccardo ryszard richie
robert rob robbie bob bobby roberto bert robin rupert robertas ruprecht
roger rodger rogelio ruggero rogerio
roman romano romain
ronald ron ronnie ronaldo rinaldo reginald reynaldo reggie
rose rosa rosie rosalia roza
ruslan rouslan
rustam rustem roustam
ruth rut
sabah sabbah
sadiq sadegh sadik sadek sadeq siddiq siddique
said saeed sayed saeid saied saiyid
salah saleh salih salaah
salim saleem selim salem
samih sameh
samir sameer
samuel sam sammy samuil shmuel samuele shemuel
sarah sara sally sadie
saul shaul
sebastian seb sebastien bastian sebastiano
semyon simon shimon szymon simeon semen simone sam simao shimeon symon symeon
sergei sergey serge sergio seryozha serhiy serhii sergiy sergii siarhei sergej serguei siarhey serghei
shakir shaker
sharif sherif shareef cherif
simona simone
solomon suleiman sulayman suleyman salomon shlomo soliman sulaiman sulejman salomone suliman souleymane
sophia sofia sophie zofia sofya sofiya sonia sonya
stanislav stanislaw stas stanislas stanislaus estanislao
stephen steven steve stefan esteban stephane etienne stepan stephan stefano istvan stefanos stjepan stephanos stevan estevan szczepan
susan sue suzy susanna susannah suzanne zuzana susana
svetlana sveta lana svitlana sviatlana
sviatoslav svyatoslav
svyatoslav slava
tahir taher
tariq tarek tarik tareq tareck
tatiana tatyana tanya tania tetiana tetyana taciana
taufiq tawfiq toufic tewfik taoufik tofik
terence terry terrence
teresa theresa tess terry therese tereza
theodore ted teddy theo fyodor fedor teodor fedir theodoros teodoro fiodor theodor tudor feodor todor tivadar
thomas tom tommy tomas tomasz tomaz tommaso tomi foma thom toma tomislav
timothy tim timmy timofey timoteo tymofiy timofei timotheus timo
timur temur taimur teymur temir
ulugbek ulughbek
usman othman osman uthman ousmane
valentin valentyn valentino
valentina valya valentyna
valery valeriy valeri valerii valerio valeriu valerij
vasily vasili vasya basil vasyl vasiliy vassily vasilis vasilios vasile vasil wasil vasilii vassilis bazyli vassili
vera viera wiera
veronica veronika nika ronnie
victor viktor vitya vic vittorio viktoras wiktor viktors
victoria vika viktoria vicky viktoriya viktoriia wiktoria vittoria
vincent vince vincenzo vicente vinny vikenty
vitaly vitaliy vitali vitalii vitalie vital
vladimir volodya vova vlad volodymyr uladzimir vladimer wladimir wlodzimierz waldemar valdemar vladymyr uladzimer
vladislav vlad slava vladyslav wladyslaw uladzislau ladislav
vyacheslav slava viacheslav vaclav wenceslas viatcheslav vjaceslav wieslaw vecheslav
wael wail
wahid waheed vahid
walid waleed oualid velid
walter walt walther gualtiero wally valter
william bill billy will willy liam guillermo wilhelm guillaume willem guglielmo willie vilhelm vilyam vilmos wim
yahya yahia yehia iahia yehya
yaqoob yaqub yacub
yaroslav jaroslav yaroslaw jaroslaw
yasin yassin yaseen yassine jassin
yasir yasser yaser jasser
yulia julia yuliya julie iuliia julija giulia yuliia juliana
yunus younes yunis jonah jonas younis yunes iunus yonas jona
zachary zach zack zachariah zakaria zakariya zechariah zakharia zakhar zakariyya zekeriya zacarias
zainab zeinab zaynab zeynep zineb
ziad zyad ziyad zeyad
zinovy zinoviy zenobius
zubair zubayr zoubir zubeir
`

/** Names of their own, most of them near another one: each beside its likeness is another person. */
const SINGLE =
  'mario danielle daniela carla paula paulina erica erika simona stefanie stephanie stefania gabriela gabriella gabrielle martina robin andreea nicole nicola valeria valerie victorina claudia christiane frederica georgia georgina henrietta josephine josefina josepha louise luisa michelle michaela mikaela patrice philippa roberta ronalda alberta augusta bernadette bruna charlotte carolina caroline cornelia dominika edwin edwina emil emilia emilio emily emma ernestina eugenia ferdinanda filippa fiona flora florian franca gina giovanna gloria grace graham gregoria gwen heidi helga hilda holly hugh ian ingrid iris ivana jade janet jasmin jenna jennifer jill joy joyce kelly kevin kirsten kurt kyle laura lauren leah lena liliana linda lisa loretta lorna lucia lucy lydia lynn marian marion marlene marvin maura melanie melissa mercedes mila mona monica monika morgan myra nadine naomi nigel nora norma norman otto pamela petra phoebe rita rosemary ross roxana rufus sandy sharon sheila sonja stella sven sybil sylvia tamara tanja theo tracy ulrich ursula vanessa verena viola virginia vivian wanda wendy wilma yvonne yves zoe alina amina amira aisha asma basma dina dana dalia farah hana hala hiba huda iman jamila karima khadija laila leila layla lina lubna malika mona nadia najla nawal noor rania rasha reem rima saida salma samira sana sawsan shirin soraya yasmin zahra hakim hakeem hasib jabir jabbar kabir latif mukhtar nadim naim naji nazim qais rafi sabir safi salam saif sami sattar shafiq tamim wasim yazid zahid zahir zaki'

/** Name → every name that may stand for it, itself left out; empty for names of their own. */
export const GIVEN_NAMES: ReadonlyMap<string, ReadonlySet<string>> = (() => {
  const found = new Map<string, Set<string>>()
  for (const line of GROUPS.trim().split('\n')) {
    const group = line.split(' ')
    for (const name of group) {
      const others = found.get(name) ?? new Set()
      for (const other of group) if (other !== name) others.add(other)
      found.set(name, others)
    }
  }
  for (const name of SINGLE.split(' ')) if (!found.has(name)) found.set(name, new Set())
  return found
})()
