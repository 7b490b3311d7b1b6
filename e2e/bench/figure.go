package bench

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// figure is one line of `make bench`.
type figure struct {
	name      string
	value     float64
	unit      string
	reference string  // NAME=VALUE of the comparison
	ratio     float64 // value divided by that of the reference
	atMost    float64 // the target for ratio
}

// figures writes each figure of a run when it is measured, and collects those that miss
// their targets.
type figures struct {
	out    io.Writer
	missed []string
}

// print writes: bench NAME VALUE UNIT REFERENCE RATIO TARGET HOLDS|MISS. A ratio that is
// not a number, because nothing was compared, misses the target.
func (f figure) print(w *figures) {
	verdict := "HOLDS"
	if math.IsNaN(f.ratio) || f.ratio > f.atMost {
		verdict = "MISS"
		w.missed = append(w.missed, fmt.Sprintf("%s (%.2f, target at most %.2f)", f.name, f.ratio, f.atMost))
	}
	fmt.Fprintf(w.out, "bench %s %.2f %s %s %.2f <=%.2f %s\n", f.name, f.value, f.unit, f.reference, f.ratio, f.atMost, verdict)
}

// verdict returns an error with the figures that miss their targets, joined with the error of
// the measurement.
func (w *figures) verdict(err error) error {
	if len(w.missed) == 0 {
		return err
	}
	return errors.Join(err, fmt.Errorf("figures that miss their targets: %s", strings.Join(w.missed, ", ")))
}

// resident is the peak memory of a run, against the limit for bundles of any size.
func resident(name string, m measured) figure {
	const limit = 150e6
	return figure{name, float64(m.peak) / 1e6, "MB", "limit=150MB", float64(m.peak) / limit, 1.0}
}

// seconds is a duration, against another duration of the same run.
func seconds(name string, took time.Duration, reference string, other time.Duration, atMost float64) figure {
	return figure{name, took.Seconds(), "s", fmt.Sprintf("%s=%.2fs", reference, other.Seconds()), took.Seconds() / other.Seconds(), atMost}
}

// perGB is like seconds for data of different sizes, in seconds a gigabyte.
func perGB(name string, took time.Duration, size int64, reference string, other time.Duration, otherSize int64, atMost float64) figure {
	value, against := took.Seconds()/float64(size)*1e9, other.Seconds()/float64(otherSize)*1e9
	return figure{name, value, "s/GB", fmt.Sprintf("%s=%.2fs/GB", reference, against), value / against, atMost}
}
