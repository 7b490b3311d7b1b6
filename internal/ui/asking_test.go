package ui_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

// TestAsking: the progress ends for a question, and begins again after the answer.
func TestAsking(t *testing.T) {
	tty := uitest.New(t)
	console := &ui.Terminal{In: tty.File, Err: tty.File, Format: ui.Auto}
	p := ui.NewAsking(console)
	p.Now("Upgrade w1")
	tty.Await(t, "Upgrade w1")
	p.Now("")
	tty.Types(t, [2]string{"w[2-4] next. Type yes to continue: ", "yes\n"})
	answer, err := p.Ask(t.Context(), "w[2-4] next. Type yes to continue: ")
	require.NoError(t, err)
	assert.Equal(t, "yes\n", answer)
	p.Now("Upgrade w2")
	tty.Await(t, "Upgrade w2")
	p.Host("w2").End(nil)
	p.Say("w2 is done")
	console.EndProgress()
	assert.Contains(t, tty.Screen(), "w2 is done")
}

// TestSayDuringAQuestion: a message is on a separate line, as that of a first Ctrl-C.
func TestSayDuringAQuestion(t *testing.T) {
	var w bytes.Buffer
	in := &blocked{}
	p := ui.NewAsking(&ui.Terminal{In: in, Err: &w, Format: ui.Plain})
	in.during = func() {
		p.Say("Ctrl-C: %s stops", "airgap")
		p.Now("nothing")
		p.Task("nothing", 1, false).End(nil)
		p.Step(1, 2, "nothing")
		assert.Nil(t, p.Table())
	}
	_, err := p.Ask(t.Context(), "Continue? ")
	require.NoError(t, err)
	p.Close()
	assert.Equal(t, "Ctrl-C: airgap stops\n", strings.ReplaceAll(w.String(), "Continue? ", ""))
}

// blocked is an input whose line comes after other work.
type blocked struct {
	during func()
}

func (b *blocked) Read(p []byte) (int, error) {
	b.during()
	return copy(p, "yes\n"), nil
}
