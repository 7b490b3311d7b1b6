package chart

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"text/template"
	"time"
)

// maxRenderings is the number of renderings of a chart that draws from a small range: two
// renderings can be equal after the template has processed the drawn values.
const maxRenderings = 16

// draws provides the random values of one rendering. The first two renderings never draw
// the same value, even from a small range, so that a chart with random values always differs.
type draws struct {
	rendering int
	now       time.Time
	few       bool // a value was drawn from a small range
}

// functions returns replacements for Sprig's random functions, for the clock, and for
// functions that list a mapping in random order.
func (c *draws) functions() template.FuncMap {
	const letters, digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	var ascii []byte
	for b := byte(' '); b <= '~'; b++ {
		ascii = append(ascii, b)
	}
	text := func(alphabet string) any {
		return func(count int) (string, error) { return c.text(count, []byte(alphabet)) }
	}
	return template.FuncMap{
		"now": func() time.Time { return c.now }, "ago": c.ago,
		"randInt": c.number, "shuffle": c.shuffle, "randBytes": c.bytes, "uuidv4": c.uuid,
		"randAlpha": text(letters), "randNumeric": text(digits), "randAlphaNum": text(letters + digits), "randAscii": text(string(ascii)),
		"keys": keys, "values": values,
	}
}

// number returns the lowest number, then the highest, then the others of a small range,
// or numbers that are spread over a large range.
func (c *draws) number(from, to int) (int, error) {
	n := to - from
	if n <= 0 {
		return 0, fmt.Errorf("randInt %d %d: the range is empty", from, to)
	}
	c.few = true
	switch {
	case c.rendering == 0:
		return from, nil
	case c.rendering == 1:
		return to - 1, nil
	case n <= maxRenderings:
		return from + (c.rendering-1)%n, nil
	}
	return from + n/maxRenderings*(c.rendering-1), nil
}

// text returns a random text. The first rendering draws only even bytes, the second only
// odd bytes. A change of the case does not change whether a letter is even.
func (c *draws) text(count int, alphabet []byte) (string, error) {
	if count > maxRendered {
		return "", fmt.Errorf("%d random bytes are requested, the limit is %d", count, maxRendered)
	}
	c.few = c.few || count < 4
	if c.rendering < 2 {
		alphabet = slices.DeleteFunc(slices.Clone(alphabet), func(b byte) bool { return int(b)%2 != c.rendering })
	}
	drawn := make([]byte, max(count, 0))
	for i := range drawn {
		at, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			return "", err
		}
		drawn[i] = alphabet[at.Int64()]
	}
	return string(drawn), nil
}

func (c *draws) bytes(count int) (string, error) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	text, err := c.text(count, all)
	return base64.StdEncoding.EncodeToString([]byte(text)), err
}

// uuid returns a UUID of version 4.
func (c *draws) uuid() (string, error) {
	digits, err := c.text(30, []byte("0123456789abcdef"))
	if err != nil {
		return "", err
	}
	variant := []string{"8", "9"}[c.rendering%2]
	return digits[:8] + "-" + digits[8:12] + "-4" + digits[12:15] + "-" + variant + digits[15:18] + "-" + digits[18:], nil
}

// shuffle rotates the text by one more letter in each rendering. The results are equal
// only if all letters are equal.
func (c *draws) shuffle(text string) string {
	c.few = true
	letters := []rune(text)
	if len(letters) == 0 {
		return ""
	}
	at := c.rendering % len(letters)
	return string(slices.Concat(letters[at:], letters[:at]))
}

// ago is Sprig's function with the clock of this rendering.
func (c *draws) ago(date any) string {
	at := c.now
	switch date := date.(type) {
	case time.Time:
		at = date
	case int64:
		at = time.Unix(date, 0)
	case int:
		at = time.Unix(int64(date), 0)
	}
	return c.now.Sub(at).Round(time.Second).String()
}

// Sprig returns the keys and values of a mapping in random order. keys and values return
// them in the order of the keys, which is one of these orders.
func keys(mappings ...map[string]any) []string {
	all := []string{}
	for _, m := range mappings {
		all = append(all, slices.Sorted(maps.Keys(m))...)
	}
	return all
}

func values(m map[string]any) []any {
	all := []any{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		all = append(all, m[key])
	}
	return all
}
