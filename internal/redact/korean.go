package redact

import (
	"bytes"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// koreanWords returns the Korean words for a secret.
func koreanWords() []string {
	return []string{"비밀번호", "비밀 번호", "비번", "암호", "패스워드", "패쓰워드", "패스프레이즈", "패스코드", "인증키", "인증 키", "인증번호", "인증 번호", "인증코드", "인증 코드",
		"비밀키", "비밀 키", "개인키", "개인 키", "접근키", "접근 키", "액세스키", "액세스 키", "엑세스 키", "보안키", "보안 키", "접속키", "접속 키", "api 키", "api키", "시크릿", "토큰", "핀번호", "핀 번호"}
}

// either is a word of Korean as one has it, and in the letters that macOS writes.
func either(words ...string) string {
	var all []string
	for _, word := range words {
		all = append(all, regexp.QuoteMeta(word))
		if apart := norm.NFD.String(word); apart != word {
			all = append(all, regexp.QuoteMeta(apart))
		}
	}
	return `(?:` + strings.Join(all, "|") + `)`
}

var (
	//nolint:gochecknoglobals // parts of the expressions below, never changed
	koreanNames = either(koreanWords()...)
	//nolint:gochecknoglobals // as above
	particles = either("은", "는", "이", "가", "을", "를", "로", "으로", "도", "의")
	// A remark in brackets may follow the word: 비밀번호(관리자).
	koreanForm = lazy(`(?i)` + koreanNames + `(?:\s*[(（][^()（）]{0,40}[)）])?` + particles + `?` + gap + `(?:[:=：＝→]|\]|-?->)` + spaces)
	// Without a sign it is ASCII behind a particle or a blank.
	spokenForm = lazy(`(?i)` + koreanNames + `(?:` + particles + spaces + `|` + spaces + `)["'“‘「` + "`" + `]?([!-~]{4,})`)
)

func koreanForms() []pattern {
	words := koreanWords()
	for _, word := range koreanWords() {
		words = append(words, norm.NFD.String(word))
	}
	return []pattern{
		{kind: Field, words: words, form: koreanForm, secret: koreanValue},
		{kind: Field, words: words, form: spokenForm, secret: spoken},
	}
}

func koreanValue(line []byte, m []int) (from, to int) {
	from, to = valueAt(line, m[1], beginsLine(line[:m[0]]))
	if trivial(line[from:to]) || blockScalar().Match(line[from:to]) {
		return from, from
	}
	return from, to
}

// endsTopic reports whether a name ends with the topic particle.
func endsTopic(name []byte) bool {
	text := strings.TrimSpace(norm.NFC.String(string(name)))
	return strings.HasSuffix(text, "은") || strings.HasSuffix(text, "는")
}

// spoken is a value in a sentence: in quotes, or with other characters than letters, or as the
// predicate of the sentence.
func spoken(line []byte, m []int) (from, to int) {
	value := bytes.TrimRight(line[m[2]:m[3]], `.,;:)"'`+"`")
	from, to = m[2], m[2]+len(value)
	letters := true
	for _, c := range value {
		letters = letters && (c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '_')
	}
	after := string(line[m[3]:min(len(line), m[3]+12)])
	said := strings.HasPrefix(strings.TrimLeft(norm.NFC.String(after), ` "'`), "입니") || strings.HasPrefix(norm.NFC.String(after), "이") || strings.HasPrefix(norm.NFC.String(after), "로") || strings.HasPrefix(norm.NFC.String(after), "으로")
	topic := after == "" && endsTopic(line[m[0]:m[2]])
	quoted := m[2] > 0 && bytes.IndexByte([]byte("\"'`"), line[m[2]-1]) >= 0
	if trivial(value) || letters && !said && !quoted && !topic {
		return from, from
	}
	return from, to
}
