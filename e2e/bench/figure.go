package bench

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// figure is one measured line of `make bench`.
type figure struct {
	name      string
	value     float64
	unit      string
	reference string  // what it is compared with
	ratio     float64 // value through the reference's
	atMost    float64 // the target for ratio
}

// figures are those of one run: each is written when it is measured, and what
// misses its target is remembered to the end.
type figures struct {
	out    io.Writer
	missed []string
}

// print writes: bench NAME VALUE UNIT REFERENCE RATIO TARGET HOLDS|MISS. What is no
// number, for want of anything to compare with, does not hold.
func (f figure) print(w *figures) {
	verdict := "HOLDS"
	if math.IsNaN(f.ratio) || f.ratio > f.atMost {
		verdict = "MISS"
		w.missed = append(w.missed, fmt.Sprintf("%s (%.2f, target at most %.2f)", f.name, f.ratio, f.atMost))
	}
	fmt.Fprintf(w.out, "bench %s %.2f %s %s %.2f <=%.2f %s\n", f.name, f.value, f.unit, f.reference, f.ratio, f.atMost, verdict)
}

// verdict names the figures that miss their targets, and adds what ended the measuring.
func (w *figures) verdict(measuring error) error {
	if len(w.missed) == 0 {
		return measuring
	}
	return errors.Join(measuring, fmt.Errorf("figures that miss their targets: %s", strings.Join(w.missed, ", ")))
}

// resident is a run's most memory, against the limit for any bundle.
func resident(name string, m measured) figure {
	const limit = 150e6
	return figure{name, float64(m.peak) / 1e6, "MB", "limit=150MB", float64(m.peak) / limit, 1.0}
}

// seconds is a figure of time against another time of the same run.
func seconds(name string, took time.Duration, reference string, other time.Duration, atMost float64) figure {
	return figure{name, took.Seconds(), "s", fmt.Sprintf("%s=%.2fs", reference, other.Seconds()), took.Seconds() / other.Seconds(), atMost}
}

// perGB is seconds for things of different sizes: seconds a gigabyte.
func perGB(name string, took time.Duration, size int64, reference string, other time.Duration, otherSize int64, atMost float64) figure {
	value, against := took.Seconds()/float64(size)*1e9, other.Seconds()/float64(otherSize)*1e9
	return figure{name, value, "s/GB", fmt.Sprintf("%s=%.2fs/GB", reference, against), value / against, atMost}
}
