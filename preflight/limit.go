package preflight

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"airgap.dev/airgap/internal/ui"
)

// Limit is a threshold of a check. A site can change it in airgap.yaml, as
// preflight.checks.CHECK.NAME.
type Limit struct {
	Check   string // ID
	Name    string // "fail", "etcdFail"
	Unit    Measure
	About   string            // meaning and default, for the schema
	Default func(*Want) int64 // if the site sets none
}

// Measure is the unit of a limit and its notation.
type Measure string

const (
	Count   Measure = "count"   // 4
	Bytes   Measure = "bytes"   // 20GB, 512MiB
	Percent Measure = "percent" // 85%
	Elapsed Measure = "elapsed" // 30s, 5m; in nanoseconds
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
			return 0, fmt.Errorf("%q: expected 0%% to 100%%", text)
		}
		return int64(n), nil
	case Elapsed:
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return 0, fmt.Errorf("%q: expected a time such as 30s or 5m", text)
		}
		return int64(d), nil
	default:
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return 0, fmt.Errorf("%q: expected a whole number", text)
		}
		return int64(n), nil
	}
}

func always(n int64) func(*Want) int64 { return func(*Want) int64 { return n } }

// byControlPlane returns one default for control-plane nodes and one for other nodes.
func byControlPlane(is, isNot int64) func(*Want) int64 {
	return func(w *Want) int64 {
		if w.HasRole(ControlPlane) {
			return is
		}
		return isNot
	}
}

// limit is the site's setting, or the default. Validate has already refused invalid settings.
func (w *Want) limit(l Limit) int64 {
	if text, set := w.Site.Checks[l.Check][l.Name]; set {
		if n, err := l.Unit.parse(text); err == nil {
			return n
		}
	}
	return l.Default(w)
}
