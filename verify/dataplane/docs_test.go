package dataplane

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// minutes returns the time of so many rounds in a cluster, with the average pause.
func minutes(nodes, rounds int) int {
	pause := (&prober{peers: make([]peer, nodes-1)}).pause()
	return int(math.Ceil((time.Duration(rounds) * pause * 11 / 10).Minutes()))
}

func turnOf(nodes, perRound int) int { return (nodes - 2 + perRound) / perRound }

// TestDocumentedTimes: the pages have the times of a large cluster that follow from the constants.
func TestDocumentedTimes(t *testing.T) {
	pathTime := func(nodes int) int { return minutes(nodes, turnOf(nodes, pathsPerRound)+1) } // two rounds in a row
	calls, hundred, most := minutes(300, turnOf(300, perRound)), pathTime(100), pathTime(300)
	times := usualTimes()
	turns := int(longTurn.Hours()) * turnOf(300, maxLong) // until a pod had a long connection to each node
	idle, kept := int(slices.Max(times.idle).Minutes()), int(times.remember.Hours())
	english := []string{
		fmt.Sprintf("up to %d minutes", calls), fmt.Sprintf("up to %d minutes with 100 nodes, and %d minutes with 300", hundred, most),
		fmt.Sprintf("at its next message, up to %d minutes later", idle), fmt.Sprintf("for %d hours", kept), fmt.Sprintf("%d hours with 300 nodes", turns),
	}
	korean := []string{
		fmt.Sprintf("최대 %d분", calls), fmt.Sprintf("노드가 100개면 최대 %d분, 300개면 최대 %d분", hundred, most),
		fmt.Sprintf("메시지를 보낼 때, 최대 %d분 뒤", idle), fmt.Sprintf("%d시간 동안", kept), fmt.Sprintf("노드가 300개면 %d시간", turns),
	}
	for page, want := range map[string][]string{
		"limitations.md": slices.Concat(english, []string{fmt.Sprintf("more than %d nodes", perRound), fmt.Sprintf("long connections to %d nodes", maxLong)}),
		"checks/verify/data-plane.md": slices.Concat(english, []string{
			fmt.Sprintf("with more than %d nodes, %.1f seconds per node", minPause/perPeer, perPeer.Seconds()), fmt.Sprintf("(%d per round, in turn)", pathsPerRound),
		}),
		"ko/limitations.md": slices.Concat(korean, []string{fmt.Sprintf("노드가 %d개를 넘으면", perRound), fmt.Sprintf("노드 %d개까지", maxLong)}),
		"ko/checks/verify/data-plane.md": slices.Concat(korean, []string{
			fmt.Sprintf("노드가 %d개를 넘으면 노드당 %.1f초", minPause/perPeer, perPeer.Seconds()), fmt.Sprintf("(한 번에 %d개씩 번갈아)", pathsPerRound),
		}),
	} {
		b, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(string(b)), " ")
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is missing", page, part)
			}
		}
	}
}
