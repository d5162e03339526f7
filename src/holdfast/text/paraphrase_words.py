"""Words by which one statement can be worded in two ways, or in one way that says another thing."""

from __future__ import annotations

# What one text may say and another leave out without saying anything else.
LIGHT = """
    user users use uses using am pm currently really very quite also just please actually now already still yet usually
    generally typically always often every all some own percent etc simply basically indeed certainly
    uhr worden nutzer nutzerin benutzer benutzerin aktuell derzeit wirklich sehr bitte schon noch immer gern gerne
    eigentlich usuario usuaria actualmente realmente muy mucho tambien siempre ahora
    utilisateur utilisatrice actuellement vraiment tres beaucoup aussi toujours maintenant train
    пользователь пользовательница сейчас очень также всегда действительно
    很 也 都 就 已 经 在 着 过 们 个 这 那 我 他 一 使 用 来 从 由 于 把 被 请 要 到 为 私 彼
"""

# They only look like stop words once their accents are gone, or are stop words of a question only.
NO_STOP_WORDS = "like té thé sûr"

JOINING = "and or und oder y e o et ou и или 和 与 及 或"
# Whom a passive names after these did what it tells.
AGENT = "by von vom durch par por"
AUXILIARIES = """
    is are was were be been being has have had having get gets got getting become becomes est sont etre
"""
AFTER_AUXILIARIES = "not never also already just still always"

# Articles and auxiliaries come and go, so they have no place in the order of words.
UNPLACED = """
    a an the this that these those will would shall should do does did it its
    der die das den dem des ein eine einen einem einer eines ist sind war waren wird wurde worden hat haben
    el la los las un una unos unas es son esta estan ha han fue se lo
    le la les l un une des du est sont a ont ete etait se s on
"""

# Prepositions of two lines before the same word relate it in two ways.
PREPOSITIONS = """
to for into onto towards fur zu zum zur nach pour para для к
from by von aus desde от из
with mit con avec
against gegen contra contre против
about uber sobre о об
until bis hasta
before
after
over
under
above
below
between zwischen entre между
during wahrend durante pendant
through
"""

# Each line is one word: short and long forms, and words that stand for each other in any sentence.
SAME_WORDS = """
child children kid kids
bicycle bike
grandmother grandma
grandfather grandpa
mother mum mom
father dad
photograph photo
telephone phone
document docs documentation
application app
repository repo
configuration config
frequently often
called named
start begin
television tv
refrigerator fridge
apartment flat
user nutzer nutzerin benutzer benutzerin
usuario usuaria
utilisateur utilisatrice
"""

# Each line is a verb and its irregular forms of the past.
IRREGULAR_VERBS = """
become became
begin began begun
break broke broken
bring brought
build built
buy bought
choose chose chosen
come came
draw drew drawn
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feel felt
find found
fly flew flown
give gave given
go went gone
grow grew grown
hold held
keep kept
know knew known
lead led
leave left
lend lent
lose lost
make made
meet met
pay paid
ride rode ridden
run ran
say said
see saw seen
sell sold
send sent
show showed shown
sing sang sung
sleep slept
speak spoke spoken
spend spent
stand stood
swim swam swum
take took taken
teach taught
tell told
think thought
throw threw thrown
understand understood
wear wore worn
win won
write wrote written
"""

# Japanese grammar, as it is written in hiragana.
PARTICLES = "の は が を に で と も へ か よ ね や な だ"
INFLECTIONS = """
    でした です ました ません ます ている ています ていた ていました ていません ていない って った する します した
    して される された されました されます しない しません という いう こと もの ある いる あります います あった
    いた ください ないで ない から まで より だけ など さん だった
"""
# They end a word that begins with a kanji.
KANJI_ENDINGS = "た て る い く き し り み れ ら け せ べ め え っ ん"
