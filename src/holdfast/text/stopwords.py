"""Words that carry grammar rather than meaning, per language, lower-cased and without accents.

They leave questions (never the index), and which language's words a text uses tells its language.
"""

from __future__ import annotations

STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "english": """
            a about above after again against ain all also am an and any are aren arent as at be because been
            before being below between both but by can cannot cant could couldn couldnt did didn didnt do does
            doesn doesnt doing don dont down during each ever few for from further get gets getting got had hadn
            hadnt has hasn hasnt have haven havent having he her here hers herself him himself his how i if in
            into is isn isnt it its itself just let lets like ll me might more most much must my myself no nor
            not of off on once only or other our ours ourselves out over own please re same shall she should
            shouldn shouldnt so some such tell than that the their theirs them themselves then there these they
            this those through to too under until up upon us ve very was wasn wasnt we were weren werent what
            when where which while who whom whose why will with won wont would wouldn wouldnt you your yours
            yourself yourselves
        """,
        "german": """
            aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis
            bist da damit dann das dass dasselbe dazu dein deine deinem deinen deiner dem den denn der des dich
            die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines
            einige er es etwas euch euer eure fur gegen gewesen hab habe haben hast hat hatte hatten hier hin
            hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja jede jedem jeden jeder
            jedes jene kann kannst kein keine keinem keinen konnen konnte machen man manche mehr mein meine
            meinem meinen meiner mich mir mit muss musste nach nicht nichts noch nun nur ob oder ohne schon sehr
            sein seine seinem seinen seiner seit selbst sich sie sind so solche soll sollte sondern sonst uber
            um und uns unser unsere unter viel vom von vor wahrend wann war waren warst warum was weg weil
            weiter welche welchem welchen welcher welches wem wen wenn wer werde werden wie wieder will wir wird
            wirst wo wohin wollen wollte wurde wurden zu zum zur zwar zwischen
        """,
        "french": """
            a ai aie ainsi as au aucun aura aussi autre aux avaient avais avait avant avec avez avoir avons c ce
            ceci cela ces cet cette ceux chez comme comment d dans de depuis des donc dont du elle elles en
            encore entre es est et etaient etais etait etant etes etre eu eux fait fut ici il ils j je l la
            le les leur leurs lui m ma mais me meme mes moi mon n ne nos notre nous on ont ou par parce pas
            peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si
            son sont sous suis sur t ta te tes toi ton tous tout toute toutes tres tu un une vers vos votre vous
            y
        """,
        "spanish": """
            a al algo algun alguna algunas alguno algunos ante antes asi aun aunque cada como con contra cual
            cuales cuando cuanto de del desde donde dos durante e el ella ellas ellos en entre era eran eres es
            esa esas ese eso esos esta estaba estado estamos estan estar estas este esto estos estoy fue fueron
            fui ha habia han has hasta hay he hemos hizo la las le les lo los mas me mi mis mucho muy nada ni no
            nos nosotros nuestra nuestro o os otra otro para pero poco por porque pues que quien quienes se sea
            segun ser si sido sin sobre son soy su sus suya suyo tambien tampoco tan tanto te tenia tiene tienen
            tienes todo todos tu tus tuvo un una unas uno unos y ya yo
        """,
        "italian": """
            a abbia abbiamo ad agli ai al alla alle allo anche ancora avere aveva avevo c che chi ci cio come
            con contro cosa cui da dagli dai dal dalla dalle dallo degli dei del della delle dello dentro di
            dopo dove e ed era erano ero essere fa fu gli ha hai hanno ho i il in io l la le lei li lo loro lui
            ma me mi mia mie miei mio molto ne negli nei nel nella nelle nello no noi non nostra nostro o
            ogni per perche piu poi prima qual quale quali quando quanto quella quelle quelli quello questa
            queste questi questo qui se sei senza si sia siamo siete sono sta stata stati stato su sua sue sugli
            sui sul sulla sulle suo suoi ti tra tu tua tue tuo tuoi tutti tutto un una uno vi voi
        """,
        "portuguese": """
            a ainda alem algum alguma ao aos aquela aquele aquilo as assim ate cada com como da das de dela dele
            deles depois do dos e ela elas ele eles em entre era eram essa essas esse esses esta estao estar
            estas estava este estes estou eu fez foi foram ha isso isto ja la lhe lhes mais mas me mesmo meu
            meus minha minhas muito na nao nas nem no nos nossa nosso num numa o onde os ou para pela pelas pelo
            pelos por porque qual quais quando que quem sao se seja sem ser seu seus sido so sobre sou sua suas
            tambem te tem tenho ter teve tinha todo todos tu tua um uma umas uns voce voces
        """,
        "dutch": """
            aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens
            en er ge geen geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je
            kan kon kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons
            ook op over reeds te tegen toch toen tot u uit uw van veel voor waar wanneer waren was wat werd
            wezen wie wil worden wordt zal ze zelf zich zij zijn zo zonder zou
        """,
        "russian": """
            а без более был была были было быть в вам вас весь во вот все всех вы где да даже для до его ее
            если есть еще же за здесь и из или им их к как какая какой какие когда кого кто ли либо мне может мы
            на над надо наш не него нее нет ни них но ну о об однако он она они оно от очень по под после при про
            с сам свой себя сейчас со так также такой там тебе тебя то тогда того тоже только том ты у уже
            что чтобы чье чья эта эти это этого этой этот я мой моя мои твой твоя ваш ваша почему сколько
        """,
        "arabic": """
            في من على إلى الى عن مع هذا هذه ذلك تلك التي الذي الذين ما ماذا متى أين اين كيف هل هو هي هم
            أنا انا نحن أنت انت كان كانت قد لقد لا لم لن أن ان إن أو او و ثم حتى كل بعد قبل عند لماذا
        """,
        "hindi": """
            का के की को में से पर है हैं था थी थे और या यह वह ये वे इस उस एक भी ही तो ने क्या कब कहाँ कहां
            क्यों कौन कैसे जो मैं हम तुम आप मेरा मेरी मेरे उसका उसकी उसके नहीं कि लिए साथ हो गया गई कर
        """,
        "greek": """
            ο η το οι τα του της των τον την και κι σε στο στη στην στον στα με για απο από που πού πως πώς ποιος
            ποια ποιο πότε ποτε τι είναι ειναι ήταν ηταν δεν μην θα να ότι οτι αν ένα ενα μια ένας εγώ εσύ μου σου
        """,
        "unspaced": "の は が を に で と も へ か よ ね 的 了 吗 呢 嗎 是",  # these scripts are split per character
    }.items()
}

LATIN_LANGUAGES = ("english", "german", "french", "spanish", "italian", "portuguese", "dutch")

# Stop words of one language that are words of content (or part of a name) in English: one of these
# alone does not make a text foreign.
_LOOKALIKES = """
    a ad ai al as at ben come con da dal dan de dei del dem den der des die do dos du e el en er es et fin fur ha hat
    he hem her hier him hun i in is it ja je ka la las le les los ma man mar me men met mi mia mon na
    no on or os par per pour sin so son sole sol sur ta te ten ton tot tu un una us van von war was weg will
    y yo ya ni fa fu li lo sei sta su ti vi o u une plus sans tous vers via non om op over al all
"""
ENGLISH_LOOKALIKES = frozenset(_LOOKALIKES.split())

TOLD_BY_ACCENT = frozenset(("né", "sûr", "té"))
"""Words that carry meaning, and that only an accent tells from a stop word of their own
language.
"""
