package redact

import (
	"bytes"

	"golang.org/x/text/unicode/norm"
)

// Forms of sentences and notes in which no sign stands before the secret, or two values stand
// behind one sign.
var (
	saidForm = lazy(`(?i)(?:^|[^a-z0-9])(?:passw(?:or)?d|passphrase|passcode|pwd|pw|pin)(?:\s+(?:is|was)\s+|\s*` + particles + `\s*)["'“‘「` + "`" + `]?([!-~]{4,})`)
	pinForm  = lazy(`(?i)(?:^|[^a-z0-9])pin(?:\s*(?:code|number|no\.?|` + either("번호", "코드") + `))?` + gap + `[:=：＝?]` + spaces + `\\*["']?([!-~]{4,})`)
	bothForm = lazy(`(?i)(?:id|user(?:name)?|` + either("아이디", "계정") + `)\s*/\s*(?:pw|pwd|pass(?:word|wd)?|` + koreanNames + `)` + gap + `[:=：＝]?` + spaces + `[^\s/]+\s*/\s*(\S+)`)
)

func sentenceForms() []pattern {
	return []pattern{
		{kind: Field, words: saidWords(), form: saidForm, secret: spoken},
		{kind: Field, words: joined([]string{"pin"}, ":", "=", "?", " :", " =", `"`, "'", "：", "＝", " code", " n", " 번호", "번호", " 코드", "코드"), form: pinForm, secret: pin},
		{kind: Field, words: joined([]string{"/", "/ "}, append(koreanWords(), "pw", "pass")...), form: bothForm},
	}
}

// saidWords spare most lines saidForm: short names are a part of many words.
func saidWords() []string {
	ends := []string{" is", " was"}
	for _, particle := range []string{"은", "는", "이", "가", "을", "를"} {
		ends = append(ends, particle, " "+particle)
	}
	return append(joined([]string{"pw", "pwd", "pin"}, ends...), "passw", "passphrase", "passcode")
}

// joined are all beginnings with all ends, Korean also in letters apart.
func joined(begins []string, ends ...string) []string {
	var all []string
	for _, begin := range begins {
		for _, end := range ends {
			all = append(all, begin+end)
			if apart := norm.NFD.String(end); apart != end {
				all = append(all, begin+apart)
			}
		}
	}
	return all
}

var versionForm = lazy(`^\d+(?:\.\d+)+`)

// pin has a digit, and is no version that something is pinned to.
func pin(line []byte, m []int) (from, to int) {
	to = m[2] + bytes.IndexAny(append(line[m[2]:m[3]:m[3]], ' '), " \"',;})\\")
	if value := line[m[2]:to]; len(value) < 4 || !bytes.ContainsAny(value, "0123456789") || versionForm().Match(value) || isPath(value) {
		return m[2], m[2]
	}
	return m[2], to
}
