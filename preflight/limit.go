package preflight

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"airgap.dev/airgap/internal/ui"
)

// Limit is a number that a check compares with, and that a site may set to
// another in airgap.yaml, as preflight.checks.CHECK.NAME.
type Limit struct {
	Check   string // ID
	Name    string // "fail", "etcdFail"
	Unit    Measure
	About   string            // what it does, with the default; for the schema
	Default func(*Want) int64 // when the site sets none
}

// Measure is what a limit is counted in and how it is written.
type Measure string

const (
	Count   Measure = "count"   // 4
	Bytes   Measure = "bytes"   // 20GB, 512MiB
	Percent Measure = "percent" // 85%
	Elapsed Measure = "elapsed" // 30s, 5m; counted in nanoseconds
)

const (
	percentPattern = `^(100|[0-9]{1,2})%$`
	elapsedPattern = `^([0-9]+(ms|s|m|h))+$`
)

func (m Measure) parse(text string) (int64, error) {
	switch m {
	case Bytes:
		return ui.ParseSize(text)
	case Percent:
		n, err := strconv.ParseUint(strings.TrimSuffix(text, "%"), 10, 7)
		if err != nil || n > 100 || !strings.HasSuffix(text, "%") {
			return 0, fmt.Errorf("%q: want 0%% to 100%%", text)
		}
		return int64(n), nil
	case Elapsed:
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return 0, fmt.Errorf("%q: want a time such as 30s or 5m", text)
		}
		return int64(d), nil
	default:
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return 0, fmt.Errorf("%q: want a whole number", text)
		}
		return int64(n), nil
	}
}

func always(n int64) func(*Want) int64 { return func(*Want) int64 { return n } }

// byControlPlane is one default for control-plane nodes, another for others.
func byControlPlane(is, isNot int64) func(*Want) int64 {
	return func(w *Want) int64 {
		if w.Is(ControlPlane) {
			return is
		}
		return isNot
	}
}

// limit is what the site set, or the default. Validate has refused what does
// not parse.
func (w *Want) limit(l Limit) int64 {
	if text, set := w.Site.Checks[l.Check][l.Name]; set {
		if n, err := l.Unit.parse(text); err == nil {
			return n
		}
	}
	return l.Default(w)
}
