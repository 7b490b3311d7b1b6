package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestSVG: the picture is valid XML, with the last screen below the animated ones, escaped
// text, and colours as classes.
func TestSVG(t *testing.T) {
	text := svg([]string{"first <&> $", "\x1b[1mbold\x1b[0m \x1b[36mcyan\x1b[39m\x1b[49m plain\n\n  last", "end\x1b[38;5;1m ."})
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	last, others, _ := strings.Cut(text, `class="f"`)
	if !strings.Contains(last, ">end") || strings.Count(others, "animation-delay") != 2 {
		t.Errorf("want the last screen, then two animated ones, in:\n%s", text)
	}
	for _, want := range []string{"first &lt;&amp;&gt; $", `<tspan class="b">bold</tspan> <tspan class="c">cyan</tspan> plain`, `y="61">  last<`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
