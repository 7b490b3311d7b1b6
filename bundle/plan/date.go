package plan

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
)

// epochVariable sets the time of a bundle, as reproducible-builds.org specifies it.
const epochVariable = "SOURCE_DATE_EPOCH"

func (o Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

// date sets the time of the bundle: the time in SOURCE_DATE_EPOCH, or the time in
// airgap.lock if nothing has changed since, or the time of the clock. So the same lock
// gives the same bytes on another day.
func date(p *bundle.Plan, o Options, locked *bundle.Locked) error {
	inputs, err := p.Inputs()
	if err != nil {
		return err
	}
	p.Dated = o.now().UTC().Truncate(time.Second)
	if locked != nil && locked.Inputs == inputs && !locked.Created.IsZero() {
		p.Dated = locked.Created
	}
	epoch, err := sourceDate(os.Getenv(epochVariable))
	if err != nil {
		return err
	}
	if !epoch.IsZero() {
		p.Dated = epoch
	}
	p.Created = p.Dated
	if o.Base == nil || p.Created.After(o.Base.Newest) {
		return nil
	}
	if !epoch.IsZero() {
		return advice.Usage(fmt.Errorf("date the bundle: %s is %s, and the base was made on %s: on the servers the newest bundle counts",
			epochVariable, epoch.Format(time.RFC3339), o.Base.Newest.UTC().Format(time.RFC3339)))
	}
	// On the servers the newest bundle counts, so a delta is newer than its base.
	p.Created = o.Base.Newest.UTC().Truncate(time.Second).Add(time.Second)
	return nil
}

// sourceDate returns zero for an empty text.
func sourceDate(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds <= 0 || seconds > 1<<33 {
		return time.Time{}, advice.Usagef("%s=%q: want seconds since 1970, such as the output of git log -1 --format=%%ct, or unset the variable", epochVariable, text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
