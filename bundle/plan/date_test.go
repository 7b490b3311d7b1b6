package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
)

// TestDate: the time of a bundle is from airgap.lock as long as nothing changes, whatever the
// clock shows.
func TestDate(t *testing.T) {
	first := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	nextDay := first.Add(25 * time.Hour)
	made := &bundle.Plan{Config: "name: bank", Tool: "airgap 1", Lock: bundle.Lock{Platform: Platform}}
	inputs, err := made.Inputs()
	require.NoError(t, err)
	saved := &bundle.Locked{Created: first, Inputs: inputs}
	newer := &bundle.Inventory{Newest: first.Add(time.Hour)}
	for name, tc := range map[string]struct {
		change        func(*bundle.Plan)
		locked        *bundle.Locked
		base          *bundle.Inventory
		epoch         string
		created, kept time.Time
		says          string
	}{
		"the first bundle":                      {created: nextDay, kept: nextDay},
		"the same lock on another day":          {locked: saved, created: first, kept: first},
		"another lock":                          {locked: saved, change: func(p *bundle.Plan) { p.Lock.OS = "el9" }, created: nextDay, kept: nextDay},
		"another airgap.yaml":                   {locked: saved, change: func(p *bundle.Plan) { p.Config += "s" }, created: nextDay, kept: nextDay},
		"another program":                       {locked: saved, change: func(p *bundle.Plan) { p.Tool = "airgap 2" }, created: nextDay, kept: nextDay},
		"a lock from before the time was in it": {locked: &bundle.Locked{}, created: nextDay, kept: nextDay},
		"SOURCE_DATE_EPOCH":                     {locked: saved, epoch: "1700000000", created: time.Unix(1_700_000_000, 0).UTC(), kept: time.Unix(1_700_000_000, 0).UTC()},
		"a delta is newer than its base, with the same lock too": {locked: saved, base: newer, created: first.Add(time.Hour + time.Second), kept: first},
		"an epoch that is older than the base":                   {base: newer, epoch: "1700000000", says: "the base was made on 2026-11-29T11:00:00Z"},
		"no epoch":                                               {epoch: "yesterday", says: `SOURCE_DATE_EPOCH="yesterday": want seconds since 1970`},
		"an epoch in milliseconds":                               {epoch: "1700000000000000", says: "want seconds since 1970"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(epochVariable, tc.epoch)
			p := *made
			if tc.change != nil {
				tc.change(&p)
			}
			err := date(&p, Options{Now: func() time.Time { return nextDay.Add(time.Millisecond) }, Base: tc.base}, tc.locked)
			if tc.says != "" {
				require.ErrorContains(t, err, tc.says)
				assert.True(t, advice.IsUsage(err))
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.created, p.Created)
			assert.Equal(t, tc.kept, p.Dated)
		})
	}
}
