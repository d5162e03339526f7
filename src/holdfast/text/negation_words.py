"""Words that turn a statement into another one, lower-cased and without accents.

Words of scripts without spaces are looked for anywhere in a text, all others as whole words. A word
may stand for several things; what matters is whether two texts name different ones.
"""

from __future__ import annotations

# A text that has a word of one of these kinds and a text that has none make two statements.
WEIGHTY: dict[str, str] = {
    "negation": """
        not no never none nobody nothing nowhere neither nor noone cannot isnt arent wasnt werent dont doesnt didnt
        wont cant couldnt wouldnt shouldnt hasnt havent hadnt aint stop stops stopped quit refuse refuses nein nicht
        nichts nie niemals kein keine keinen keinem keiner keines niemand nirgends weder nada nadie nunca jamas
        tampoco ningun ninguna ninguno ni non pas jamais rien aucun aucune niente nessuno nessuna nao nem nenhum
        nenhuma niet nooit geen niets не нет ни никогда никто никого ничего нигде нельзя 不 从不 从来不 没 没有 無
        无 勿 莫 未 決して 决不 ない ません なかっ なく ずに まい
    """,
    "without": "without ohne sin sans senza sem zonder без",
    "unless": "unless ausser salvo",
    "before": "before antes avant перед 之前 前に",
    "after": "after despues apres после 之后 後に あとに",
    "partly": "most meisten mayoria plupart большинство 大多数 ほとんど",
    "scarcely": """
        few hardly rarely seldom barely scarcely kaum selten apenas raramente rara rarement guere едва редко 很少
        めったに
    """,
    "restriction": """
        only solely merely except nur lediglich bloss solo solamente unicamente excepto seulement uniquement sauf
        soltanto apenas alleen только лишь кроме 只有 仅 だけ しか のみ
    """,
    "past": """
        former formerly previously ex ehemals ehemalig ehemalige ehemaliger fruher damals anteriormente antiguamente
        autrefois auparavant ancien ancienne раньше бывший бывшая прежде 以前 曾 かつて
    """,
    "doubt": """
        might maybe perhaps possibly probably may supposedly allegedly vielleicht moglicherweise eventuell angeblich
        quiza quizas probablemente acaso posiblemente peutetre forse talvez misschien возможно наверное может 也许
        可能 或许 かもしれ たぶん おそらく
    """,
    "more": "more mehr mas plus больше более 更多 もっと",
    "less": "less fewer weniger menos moins меньше менее 更少",
    "condition": "if wenn falls si если 如果 もし",
    "instead": "instead statt anstatt sino plutot вместо 而不是 代わりに",
}

# Texts that name different sides of a line, and none in common, make two statements. `|` stands
# between the sides; a line that begins with spaces continues the one before it.
OPPOSITES = """
vor | nach
for fur | against gegen contra contre против
until bis hasta jusqu до | since seit desde depuis
above over oben encima sobre dessus над 上面 | below under unter debajo dessous под 下面
from aus desde | to into for towards zum zur
up rauf hoch arriba | down runter abajo
in rein dentro | out raus fuera
on eingeschaltet encendido encendida allume オン | off aus ausgeschaltet apagado apagada eteint オフ
with mit con avec с | without ohne sin sans без
i me my mine ich mich mir mein meine meiner yo mi mis je moi mon ma mes я мой моя мои 我 私 | you your yours du dich
    dein deine tu tus usted ton ta tes vous votre ты твой вы ваш 你 | he him his ihm ihn il lui он его ему 他 彼 |
    she her hers ella elle ihr ihre она ее ей 她 彼女
user nutzer nutzerin benutzer usuario usuaria utilisateur utilisatrice пользователь 用户 ユーザー | he she er ella
    il elle он она 他 她 彼 彼女
he i they we | him me them us
is are am | was were
ist sind | war waren
es son | era eran fue fueron
est sont | etait etaient
has have | had
hat haben | hatte hatten
tiene tienen | tenia tenian tuvo
left links izquierda gauche слева левый 左 | right rechts derecha droite справа правый 右
all every each always everybody everyone alle jeder jede jedes immer todos todas siempre tous toutes toujours все
    всегда всех 所有 总是 全部 すべて いつも | some sometimes somebody someone manche manchmal algunos algunas
    parfois certains некоторые иногда 有些 有时 ときどき | half few several einige wenige pocos quelques несколько
always immer siempre toujours всегда 总是 いつも | never nie niemals nunca jamais никогда 从不 决して | often
    usually oft meistens usualmente souvent часто 经常 よく | rarely selten raramente rarement редко 很少
may can konnen puede peut может | must muss debe doit должен 必须
first | last
daily taglich diario quotidien ежедневно | weekly wochentlich semanal hebdomadaire еженедельно | monthly monatlich
    mensual mensuel ежемесячно | yearly jahrlich anual annuel ежегодно | nightly | hourly
morning mornings morgen morgens manana matin утро утром утра 早上 早晨 朝 | noon midday mittag mediodia midi 中午 昼
    | afternoon afternoons nachmittag tarde 下午 午後 | evening evenings abend abends soir вечер вечером вечера 晚上
    夕方 晩 | night nights nachts nacht noche nuit ночь ночью ночи 夜
spring fruhling fruhjahr primavera printemps весна весной 春 | summer sommer verano ete лето летом 夏 | autumn fall
    herbst otono automne осень осенью 秋 | winter invierno hiver зима зимой 冬
today heute hoy сегодня 今天 今日 | tomorrow morgen manana demain завтра 明天 明日 | yesterday gestern ayer hier
    вчера 昨天 昨日
last letzte letzten letzter pasado dernier derniere прошлый 上个 先 | next nachste nachsten proximo prochain
    prochaine следующий 下个 来 | this diese este ce этот 这个 今
enable enables enabled aktiviert activado active включен включена включены включить 启用 打开 開 有効 | disable
    disables disabled deaktiviert desactivado desactive выключен выключена выключены отключить 禁用 关闭 閉 無効
allow allows allowed permit permits permitted erlaubt permitido permite autorise разрешено 允许 許可 | deny denies
    denied forbid forbids forbidden ban bans banned verboten prohibido interdit запрещено 禁止 拒绝 拒否
accept accepts accepted angenommen aceptado accepte принял приняли 接受 | reject rejects rejected refuse refused
    abgelehnt rechazado отклонил отклонили 拒绝
include includes included including enthalt incluye inclut включает 包括 含 | exclude excludes excluded excluding
    excluye exclut исключает 除外
increase increases increased increasing rise rises rose grew gestiegen steigt subieron aumenta aumento augmente
    augmentent выросли растет увеличился 增加 上升 增 増 | decrease decreases decreased decreasing fall falls fell
    drop drops dropped shrank gesunken sinkt bajaron disminuye diminue снизились падает уменьшился 减少 下降 減
open opens opened offen geoffnet abierto abierta ouvert ouverte открыт открыта | close closes closed geschlossen
    cerrado cerrada ferme fermee закрыт закрыта
start starts started begin begins began beginnt empieza commence начинает 开始 始 | end ends ended stop stops
    stopped finish finishes finished endet termina finit заканчивает 结束 終
like likes love loves enjoy enjoys mag liebt gusta encanta aime adore любит нравится 喜欢 爱 好 | dislike dislikes
    hate hates detest detests hasst odia deteste ненавидит 讨厌 嫌
add adds added | remove removes removed delete deletes deleted drop drops dropped
buy buys bought kauft compra achete купил 买 買 | sell sells sold verkauft vende vend продал 卖 売
win wins won | lose loses lost
send sends sent schickt envia envoie отправил 发送 送 | receive receives received get gets got erhalt recibe recoit
    получил 收到 受
lend lends lent leiht presta prete одолжил | borrow borrows borrowed
push pushes pushed | pull pulls pulled
read reads liest lee lit читает 读 読 | write writes wrote schreibt escribe ecrit пишет 写 書
import imports imported | export exports exported
upload uploads uploaded | download downloads downloaded
true wahr verdadero vrai правда 真 | false falsch falso faux ложь 假 偽
same gleich mismo meme | different other another anders otro autre
good better best gut besser bueno mejor bon meilleur хороший лучше 好 更好 良 | bad worse worst schlecht schlechter
    malo peor mauvais pire плохой хуже 坏 更差 悪
high higher hoch hoher alto eleve высокий выше 高 | low lower niedrig niedriger bajo bas низкий ниже 低
big bigger large larger great gross grosser grande grand большой 大 | small smaller little klein kleiner pequeno
    petit маленький 小
long longer lang langer largo длинный 长 長 | short shorter kurz kurzer corto court короткий 短
fast faster quick quicker schnell schneller rapido rapide быстрый быстрее 快 速 | slow slower langsam langsamer
    lento lent медленный медленнее 慢 遅
old older alt alter viejo vieux старый старше 老 古 | new newer neu neuer nuevo nouveau новый 新 | young younger
    jung junger joven jeune молодой младше 年轻 若
early earlier fruh fruher temprano tot рано раньше 早 | late later spat spater tarde tard поздно позже 晚 遅
hot warm heiss caliente chaud горячий 热 暑 熱 | cold cool kalt frio froid холодный 冷 寒
light hell claro clair светлый светлую 浅色 明 | dark dunkel oscuro sombre темный темную 深色 暗 ダーク
strong stark fuerte fort сильный 强 強 | weak schwach debil faible слабый 弱
full voll lleno plein полный 满 満 | empty leer vacio vide пустой 空
clean sauber limpio propre чистый | dirty schmutzig sucio sale грязный
happy glucklich feliz heureux счастлив 高兴 | unhappy sad unglucklich traurig infeliz triste malheureux несчастлив
    难过
public offentlich publico публичный 公开 公開 | private privat privado prive приватный 私有 非公開
single einfach | double doppelt doble
internal intern interno interne внутренний 内部 | external extern externo externe внешний 外部
local lokal | remote entfernt remoto distant
front vorne delante devant | back rear hinten detras derriere
inside drinnen | outside draussen
minimum | maximum
mother mutter madre mere мать мама 母 | father vater padre pere отец папа 父 | sister schwester hermana soeur сестра
    姐 妹 | brother bruder hermano frere брат 哥 弟 | aunt tante tia тетя 阿姨 叔母 | uncle onkel tio oncle дядя
    叔叔
son sohn hijo fils сын 儿子 息子 | daughter tochter hija fille дочь 女儿 娘
husband mann marido mari муж 丈夫 夫 | wife frau esposa femme жена 妻
dollar dollars usd $ | euro euros eur € | pound pounds gbp £ | yen jpy ¥ | franc francs chf | rubel рублей rub ₽
km kilometer kilometers kilometre kilometres | mile miles mi | meter meters metre metres m
kb | mb | gb | tb
ms millisecond milliseconds | seconds sec | minute minutes min minuten minutos минут 分钟 分 | hour hours stunde
    stunden hora horas heure heures час часов 小时 時間 | day days tag tage dia dias jour jours день дней 天 | week
    weeks woche wochen semana semanas semaine semaines неделя недели недель 周 週 | month months monat monate mes
    meses mois месяц месяцев | year years jahr jahre ano anos annee annees год года лет
kg kilo kilos | lb lbs | gram grams g
am | pm
red rot rojo roja rouge красный 红 赤 | blue blau azul bleu bleue синий 蓝 青 | green grun verde vert verte зеленый
    绿 緑 | yellow gelb amarillo jaune желтый 黄 | black schwarz negro noir noire черный 黑 | white weiss blanco
    blanc blanche белый 白
"""

# Each line begins with what its words stand for; `#` marks ordinals.
NUMBER_WORDS = """
2 two zwei dos deux два две двое 两 二 双
3 three drei tres trois три трое 三
4 four vier cuatro quatre четыре четверо 四
5 five funf cinco cinq пять 五
6 six sechs seis шесть 六
7 seven sieben siete sept семь 七
8 eight acht ocho huit восемь 八
9 nine neun nueve neuf девять 九
10 ten zehn diez dix десять 十
11 eleven elf onze одиннадцать
12 twelve zwolf doce douze двенадцать
13 thirteen dreizehn trece treize
14 fourteen vierzehn catorce quatorze
15 fifteen funfzehn quince quinze
16 sixteen sechzehn
17 seventeen siebzehn
18 eighteen achtzehn
19 nineteen neunzehn
20 twenty zwanzig veinte vingt двадцать
30 thirty dreissig treinta trente тридцать
40 forty vierzig cuarenta quarante сорок
50 fifty funfzig cincuenta cinquante пятьдесят
60 sixty sechzig
70 seventy siebzig
80 eighty achtzig
90 ninety neunzig
100 hundred hundert cien cent сто 百
1000 thousand tausend mil mille тысяча 千
1000000 million millon millionen миллион
2 twice zweimal doppelt дважды
3 thrice dreimal
#1 1st first erste ersten erster primero primera primer premier premiere первый первая первую первом
#2 2nd second zweite zweiten zweiter segundo segunda deuxieme второй вторая вторую втором
#3 3rd third dritte dritten dritter tercero tercera tercer troisieme третий третья третьем
#4 4th fourth vierte vierten vierter cuarto cuarta quatrieme четвертый
#5 5th fifth funfte funften quinto quinta cinquieme
"""

CALENDAR_WORDS = """
@mon monday mondays montag montags lunes lundi понедельник понедельника понедельникам понедельники
@tue tuesday tuesdays dienstag dienstags martes mardi вторник вторника вторникам
@wed wednesday wednesdays mittwoch mittwochs miercoles mercredi среду средам
@thu thursday thursdays donnerstag donnerstags jueves jeudi четверг четверга четвергам
@fri friday fridays freitag freitags viernes vendredi пятница пятницу пятницы пятницам
@sat saturday saturdays samstag samstags sabado sabados samedi суббота субботу субботы субботам
@sun sunday sundays sonntag sonntags domingo domingos dimanche воскресенье воскресенья воскресеньям
@jan jan january januar janner enero janvier январь января январе
@feb feb february februar febrero fevrier февраль февраля феврале
@mar march marz marzo март марта марте
@apr apr april abril avril апрель апреля апреле
@may may mai mayo май мая мае
@jun june juni junio juin июнь июня июне
@jul july juli julio juillet июль июля июле
@aug aug august agosto aout август августа августе
@sep sep sept september septiembre septembre сентябрь сентября сентябре
@oct oct october oktober octubre octobre октябрь октября октябре
@nov nov november noviembre novembre ноябрь ноября ноябре
@dec dec december dezember diciembre decembre декабрь декабря декабре
"""

# Words without spaces around them that hold one of the above and mean nothing of the kind.
HARMLESS = "未来 不过 不错 不同 差不多 非常 无论 大家 小时候 なくす なくし よくない"
