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

// maxRenderings of a chart that draws from few values: two of them may be equal
// after the template has made something of them.
const maxRenderings = 16

// chance is what one of several renderings draws. The first two never draw the
// same, however few values there are, so that a chart that draws never looks stable.
type chance struct {
	rendering int
	now       time.Time
	few       bool // something was drawn from few values
}

// functions stand for those of Sprig that draw, for the clock, and for those
// that list a mapping in any order.
func (c *chance) functions() template.FuncMap {
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

// number goes through small ranges, and spreads over large ones: first the lowest
// number, then the highest.
func (c *chance) number(from, to int) (int, error) {
	n := to - from
	if n <= 0 {
		return 0, fmt.Errorf("randInt %d %d: there is no number in this range", from, to)
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

// text is random. The first rendering has bytes with even numbers alone, the second
// those with odd ones; a letter stays on its side when its case is changed.
func (c *chance) text(count int, alphabet []byte) (string, error) {
	if count > maxRendered {
		return "", fmt.Errorf("%d random bytes are wanted, at most %d are made", count, maxRendered)
	}
	c.few = c.few || count < 4
	if c.rendering < 2 {
		alphabet = slices.DeleteFunc(slices.Clone(alphabet), func(b byte) bool { return int(b)%2 != c.rendering })
	}
	made := make([]byte, max(count, 0))
	for i := range made {
		at, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			return "", err
		}
		made[i] = alphabet[at.Int64()]
	}
	return string(made), nil
}

func (c *chance) bytes(count int) (string, error) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	text, err := c.text(count, all)
	return base64.StdEncoding.EncodeToString([]byte(text)), err
}

// uuid is one of version 4.
func (c *chance) uuid() (string, error) {
	digits, err := c.text(30, []byte("0123456789abcdef"))
	if err != nil {
		return "", err
	}
	variant := []string{"8", "9"}[c.rendering%2]
	return digits[:8] + "-" + digits[8:12] + "-4" + digits[12:15] + "-" + variant + digits[15:18] + "-" + digits[18:], nil
}

// shuffle turns the text by one more letter in each rendering: it comes out the
// same only if all letters are.
func (c *chance) shuffle(text string) string {
	c.few = true
	letters := []rune(text)
	if len(letters) == 0 {
		return ""
	}
	at := c.rendering % len(letters)
	return string(slices.Concat(letters[at:], letters[:at]))
}

// ago is Sprig's, by this rendering's clock.
func (c *chance) ago(date any) string {
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

// keys and values of a mapping come in any order from Sprig's. In the order of the
// keys they are one of those, and the same each time.
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
