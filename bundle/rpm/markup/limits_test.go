package markup

import (
	"encoding/xml"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// TestDeep: elements that no structure has are not kept in memory, however deep they are.
func TestDeep(t *testing.T) {
	deep := []byte("<package>" + strings.Repeat("<a>", 2<<20) + strings.Repeat("</a>", 2<<20) + "</package>")
	var record struct {
		XMLName xml.Name `xml:"package"`
	}
	for name, read := range map[string]func() error{
		"Unmarshal":  func() error { return Unmarshal(deep, &record, len(deep)) },
		"Decode":     func() error { return Decode(deep, &record) },
		"WellFormed": func() error { return WellFormed(deep) },
	} {
		before := allocated()
		if err := read(); !errors.Is(err, errDeep) {
			t.Errorf("%s: %v", name, err)
		}
		if more := allocated() - before; more > 4<<20 {
			t.Errorf("%s: %d MB were allocated", name, more>>20)
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestLimits: what is within the limits is read, and an error has the line.
func TestLimits(t *testing.T) {
	nested := func(depth int) string {
		return strings.Repeat("<a>", depth) + "<!-- <b> --><![CDATA[<b>]]><c/>" + strings.Repeat("</a>", depth)
	}
	long := func(n int) string { return `<a b="` + strings.Repeat("x", n) + `"></a>` }
	for name, c := range map[string]struct{ text, want string }{
		"almost deep":      {nested(maxDepth - 1), ""},
		"deep":             {nested(maxDepth), errDeep.Error()},
		"a long attribute": {long(maxPart + 1), errLong.Error()},
		"almost long":      {long(maxPart - 10), ""},
		"many elements":    {"<a>" + strings.Repeat("<b/>", 200) + "</a>", "too many elements"},
		"another end":      {"<a>\n\n<b>\n</c></a>", "line 4: "},
		"cut off":          {"<a>\n<b>\n", "line 3: unexpected EOF"},
	} {
		var v struct{}
		err := Unmarshal([]byte(c.text), &v, 200)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if err := WellFormed([]byte(long(maxPart + 1))); !errors.Is(err, errLong) {
		t.Errorf("a long attribute of an element: %v", err)
	}
	if err := WellFormed([]byte("<a>" + strings.Repeat("<b/>", 1000) + "</a>")); err != nil {
		t.Error(err)
	}
}
