package main

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"time"
)

// The cell of a character and the margin, in units of the picture.
const (
	cellWidth, cellHeight = 8, 17
	margin                = 14
)

// svg returns a picture that shows the frames in turn. A viewer without animations shows
// the last frame.
func svg(frames []string) string {
	const width, height = columns*cellWidth + 2*margin, rows*cellHeight + 2*margin
	rest := 8 * show // how long the last frame stays
	all := time.Duration(len(frames)-1)*show + rest
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="13" fill="#d4d8de">`+"\n", width, height)
	fmt.Fprintf(&b, "<style>text{white-space:pre}.b{font-weight:bold;fill:#fff}.c{fill:#56b6c2}.g{fill:#98c379}.r{fill:#e06c75}.y{fill:#e5c07b}.d{fill:#8a919c}.f{visibility:hidden;animation:f %.2fs step-end infinite}@keyframes f{0%%{visibility:visible}%.3f%%{visibility:hidden}}</style>\n", all.Seconds(), 100*show.Seconds()/all.Seconds())
	last := len(frames) - 1
	paint(&b, frames[last], "")
	for i, f := range frames[:last] {
		paint(&b, f, fmt.Sprintf(` class="f" style="animation-delay:%.2fs"`, (time.Duration(i)*show).Seconds()))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// paint draws one screen.
func paint(b *strings.Builder, screen, attributes string) {
	fmt.Fprintf(b, `<g%s><rect width="100%%" height="100%%" rx="6" fill="#1d2127"/>`+"\n", attributes)
	style := ""
	for i, line := range strings.Split(screen, "\n") {
		var text strings.Builder
		style = colour(&text, line, style)
		if strings.TrimSpace(line) != "" {
			fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`+"\n", margin, margin+(i+1)*cellHeight-4, strings.TrimRight(text.String(), " "))
		}
	}
	b.WriteString("</g>\n")
}

var sequence = regexp.MustCompile("\x1b\\[([0-9;]*)m|\x1b[()]B|[\x0e\x0f]")

// styles maps SGR codes to classes. All other codes have no effect.
var styles = map[string]string{"": "", "0": "", "1": "b", "2": "d", "22": "", "31": "r", "32": "g", "33": "y", "36": "c", "39": "", "90": "d", "91": "r", "92": "g", "93": "y", "96": "c"}

// colour writes a line with its sequences as spans, and returns the style at its end.
func colour(b *strings.Builder, line, style string) string {
	write := func(text string) {
		text = html.EscapeString(text)
		if style != "" && text != "" {
			text = `<tspan class="` + style + `">` + text + "</tspan>"
		}
		b.WriteString(text)
	}
	from := 0
	for _, m := range sequence.FindAllStringSubmatchIndex(line, -1) {
		write(line[from:m[0]])
		from = m[1]
		if m[2] < 0 {
			continue
		}
		for code := range strings.SplitSeq(line[m[2]:m[3]], ";") {
			if is, known := styles[code]; known {
				style = is
			}
		}
	}
	write(line[from:])
	return style
}
