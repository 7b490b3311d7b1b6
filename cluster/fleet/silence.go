package fleet

import (
	"context"
	"fmt"
	"io"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// leftFactor times the limit of silence is the limit for a command of an earlier run: its output is not shown here.
const leftFactor = 4

// watchdog ends a command that prints nothing for too long. sshd answers for a host whose disk hangs, so the connection is not
// lost, and the wait would have no end.
type watchdog struct {
	limit time.Duration // 0: none
	timer *time.Timer
}

// watchSilence returns the watchdog of a command on this host. It ends the command with an error that names the host and the
// step. The caller stops it.
func (m *Member) watchSilence(run *RemoteRun, end context.CancelCauseFunc, args []string) *watchdog {
	w := &watchdog{limit: m.silence}
	if run.Endless || w.limit == 0 {
		return &watchdog{}
	}
	w.timer = time.AfterFunc(w.limit, func() { end(m.silent(args)) })
	return w
}

// heard notes output of the command.
func (w *watchdog) heard() {
	if w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

func (w *watchdog) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// hears is a writer that notes the output.
func (w *watchdog) hears(to io.Writer) io.Writer { return heard{w, to} }

type heard struct {
	dog *watchdog
	to  io.Writer
}

func (h heard) Write(p []byte) (int, error) {
	h.dog.heard()
	return h.to.Write(p)
}

// silent is the error of a command that printed nothing for too long.
func (m *Member) silent(args []string) error {
	what := "airgap " + args[0]
	if a := m.activity.Load(); a != nil && a.what != what {
		what += fmt.Sprintf(" (%s)", a.what)
	}
	return advice.Add(fmt.Errorf("%s on %s: no output for %s", what, m.Node.Name, m.silence),
		"log in on %s and find the process that hangs: airgap status, ps -ef and journalctl; end it and run the same command again. "+
			"If the step is only slow, set ssh.silentMinutes in the file of --ssh-config", m.Node.Name)
}

// working names the step in work, which long waits show.
func (m *Member) working(e ui.Event) {
	if e.Event != "step" || e.Text == "" {
		return
	}
	text := fmt.Sprintf("%.80s", e.Text) // a host may be in wrong hands
	if a := m.activity.Load(); a == nil || a.what != text {
		m.doing(text)
	}
}
