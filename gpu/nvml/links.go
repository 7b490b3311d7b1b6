package nvml

import (
	"fmt"
	"strings"
)

// linkFault compares a card with those of its name on the host, since nothing
// tells how many of its NVLinks lead anywhere: bridges use some of them, and
// cheaper models have fewer. What all cards lack alike is therefore not seen
// here; behind NVSwitches the fabric tells it.
func (r Report) linkFault(c Card) string {
	best := c
	alike, unlinked := 0, 0
	for _, other := range r.Cards {
		if other.Name != c.Name || !other.linked() {
			continue
		}
		alike++
		if other.Active() == 0 {
			unlinked++
		}
		if other.Active() > best.Active() {
			best = other
		}
	}
	// A card without a bridge is no news where others have none either.
	bridged := c.Active() > 0 || 2*unlinked < alike
	if !c.linked() || c.Active() == best.Active() || !bridged {
		return ""
	}
	if c.Active() == 0 {
		return fmt.Sprintf("no NVLink is active, where %s has %d", best, best.Active())
	}
	return fmt.Sprintf("%d NVLinks are active, where %s has %d; inactive: %s", c.Active(), best, best.Active(), c.inactive())
}

// linked tells whether the card has NVLinks that are for use: between parts of
// cards there are none.
func (c Card) linked() bool {
	return len(c.NVLinks) > 0 && (c.MIG == nil || !c.MIG.Current)
}

// Active counts the NVLinks that are up.
func (c Card) Active() int {
	n := 0
	for _, active := range c.NVLinks {
		if active {
			n++
		}
	}
	return n
}

// inactive is "3, 5".
func (c Card) inactive() string {
	var numbers []string
	for i, active := range c.NVLinks {
		if !active {
			numbers = append(numbers, fmt.Sprint(i))
		}
	}
	return strings.Join(numbers, ", ")
}
