package detach

import (
	"bytes"
	"regexp"
	"strconv"
)

const (
	maxHistory  = 256 << 10 // bytes of each stream that stay when the history is cut
	maxResult   = 4 << 20   // bytes of a result
	historyPart = 256 << 10 // of a frame
	maxRedraw   = 16        // bytes of the longest sequence that redraw matches
)

// redraw is the sequence before lines that replace the last ones: so many lines up, erase the rest of the screen.
var redraw = regexp.MustCompile(`\x1b\[(\d{1,4})A\x1b\[J`)

// history is the end of a stream: the lines that a terminal still shows, without those that were redrawn.
type history struct {
	text   []byte
	gone   int64 // bytes that are no longer in text
	result bool  // it is a result for a program: it begins with the first byte, and is cut at the end
}

func (h *history) add(p []byte) {
	if h.result {
		h.text = append(h.text, p[:min(len(p), maxResult-len(h.text))]...)
		return
	}
	before := h.gone + int64(len(h.text)+len(p))
	searched := max(0, len(h.text)-maxRedraw)
	h.text = append(h.text, p...)
	for {
		at := redraw.FindSubmatchIndex(h.text[searched:])
		if at == nil {
			break
		}
		lines, _ := strconv.Atoi(string(h.text[searched+at[2] : searched+at[3]]))
		kept := withoutLast(h.text[:searched+at[0]], lines)
		rest := h.text[searched+at[1]:]
		searched = len(kept)
		h.text = append(kept, rest...)
	}
	if len(h.text) > 2*maxHistory { // not for each write
		h.text = append([]byte(nil), fromNextLine(h.text[len(h.text)-maxHistory:])...)
	}
	h.gone = before - int64(len(h.text))
}

// withoutLast removes the last lines. The cursor is behind the line end of the last one.
func withoutLast(text []byte, lines int) []byte {
	end := bytes.LastIndexByte(text, '\n') + 1 // the rest of its line is erased as well
	for ; lines > 0 && end > 0; lines-- {
		end = bytes.LastIndexByte(text[:end-1], '\n') + 1
	}
	return text[:end]
}

func fromNextLine(text []byte) []byte {
	if _, rest, found := bytes.Cut(text, []byte("\n")); found {
		return rest
	}
	return text
}
