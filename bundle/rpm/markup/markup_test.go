package markup

import (
	"fmt"
	"strings"
	"testing"
)

// tokens reads an element as "<name a=value> text </name>".
func tokens(text string) (string, error) {
	var all []string
	r := NewReader([]byte(text))
	for !r.Done() {
		t, err := r.Next()
		if err != nil {
			return strings.Join(all, " "), err
		}
		switch t.Kind {
		case Start:
			s := fmt.Sprintf("%d<%s", t.Depth, t.Name)
			err = t.Attributes.Each(func(name, value []byte) error {
				s += fmt.Sprintf(" %s=%s", name, value)
				return nil
			})
			all = append(all, s+">")
		case End:
			all = append(all, fmt.Sprintf("%d</%s>", t.Depth, t.Name))
		case Text:
			var s []byte
			s, err = t.Text(nil)
			all = append(all, string(s))
		}
		if err != nil {
			return strings.Join(all, " "), err
		}
	}
	return strings.Join(all, " "), nil
}

func TestReader(t *testing.T) {
	for text, want := range map[string]string{
		`<a/>`:                                  "1<a> 1</a>",
		`<a></a >`:                              "1<a> 1</a>",
		`<a b="1" c:d = '2'>x</a>`:              "1<a b=1 d=2> x 1</a>",
		`<r:a><r:b n="&lt;&#65;&#x42;"/></r:a>`: "1<a> 2<b n=<AB> 2</b> 1</a>",
		`<a>&amp;<!-- <b> --><?c d?><![CDATA[<&]]></a>`: "1<a> & <& 1</a>",
		"<a b=\"x\r\ny\">1\r2</a>":                      "1<a b=x\ny> 1\n2 1</a>",
		`<a b="/"><c d=">"/></a>`:                       "1<a b=/> 2<c d=>> 2</c> 1</a>",
	} {
		if got, err := tokens(text); err != nil || got != want {
			t.Errorf("%s gave %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestMalformed(t *testing.T) {
	for _, text := range []string{
		"", "<", "<a", "<a>", "<a b", `<a b=">`, `<a b=1/>`, `<a b/>`, `<a b="<"/>`, "<a></b>", "<a><b></a></b>", "</a>", "< a/>", "<1/>", "<a>&b;</a>", "<a>&</a>",
		"<a>&#0;</a>", "<a>&#xFFFFFFFF;</a>", "<!-- ", "<?", "<![CDATA[", strings.Repeat("<a>", MaxDepth+1) + strings.Repeat("</a>", MaxDepth+1),
	} {
		if got, err := tokens(text); err == nil {
			t.Errorf("%.50q gave %.50q", text, got)
		}
	}
}

// FuzzReader: any text ends with an error or with the end of its element.
func FuzzReader(f *testing.F) {
	f.Add(`<a b="1"><c>d</c></a>`)
	f.Fuzz(func(_ *testing.T, text string) { _, _ = tokens(text) })
}
