package preflight

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPathsOnPage: the page has the worst paths of a hundred hosts and counts the others; JSON has all.
func TestPathsOnPage(t *testing.T) {
	e := Entry{ID: PathQuality, Result: Result{Status: Warn, Found: "packets are lost"}}
	for i := range 800 {
		e.Paths = append(e.Paths, Path{
			From: fmt.Sprintf("h%d", i/8), To: fmt.Sprintf("h%d", i), TCP: Flows{Tried: 16}, UDP: Flows{Tried: 16}, Sent: 320, StreamRate: 1e9, BurstRate: 20e6, Size: 1500, MTU: 1500,
		})
	}
	e.Paths[777] = Path{
		From: "worst", To: "h1", TCP: Flows{16, 8}, UDP: Flows{16, 7}, Sent: 3344, Lost: 9, ReorderedPercent: 12, Trip: &Trip{1.5, 9.25, 0.5},
		StreamRate: 4_500_000, Size: 1400, MTU: 1500,
	}
	r := Reports{{Host: BetweenHosts, Worst: Warn, Results: []Entry{e}}}
	var page strings.Builder
	require.NoError(t, r.HTML(&page))
	_, table, found := strings.Cut(page.String(), "<h2>Paths between the hosts</h2>")
	require.True(t, found)
	assert.Contains(t, table, "<tbody>\n<tr><td>worst</td><td>h1</td><td>8 of 16</td><td>7 of 16</td><td>9 of 3344 (0.27 %)</td>"+
		"<td>12</td><td>1.50, 9.25, 0.50</td><td>4.5, –</td><td>1400 of 1500</td></tr>")
	assert.Contains(t, table, "The other 780 are in the JSON report.")
	assert.Equal(t, shownPaths, strings.Count(table, "<tr><td>"))
	b, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Equal(t, 800, strings.Count(string(b), `"packetsSent"`))

	page.Reset()
	require.NoError(t, Reports{{Host: "h1"}}.HTML(&page))
	assert.NotContains(t, page.String(), "Paths between the hosts")
}

// TestSortPaths: lost flows are worse than losses, and those are worse than sizes, the order, the rate and the
// round trip.
func TestSortPaths(t *testing.T) {
	worst := []Path{
		{From: "flows", UDP: Flows{16, 1}}, {From: "loss", Sent: 100, Lost: 1}, {From: "size", Size: 1400, MTU: 1500}, {From: "order", ReorderedPercent: 6},
		{From: "slow", StreamRate: 1e6}, {From: "far", StreamRate: 1e9, Trip: &Trip{P99: 9}}, {From: "fine", StreamRate: 1e9, Trip: &Trip{P99: 1}},
	}
	all := []Path{worst[6], worst[2], worst[4], worst[0], worst[5], worst[1], worst[3]}
	for i := range all {
		all[i].StreamRate = max(all[i].StreamRate, 1000) // measured
	}
	SortPaths(all)
	for i := range worst {
		assert.Equal(t, worst[i].From, all[i].From)
	}
}
