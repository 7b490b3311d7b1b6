package nodesteps

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"airgap.dev/airgap/cluster/report"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
)

// GPUSettings are what the report of this host compares with: the cards as they are
// now, and as many as there were when that is more. nil where the node has not the role gpu.
func gpuSettings(s *site.Site) (*report.GPUSettings, error) {
	if !s.Node.Has(config.GPU) {
		return nil, nil //nolint:nilnil // nothing to compare with
	}
	had, has, err := countCards(s)
	if err != nil {
		return nil, err
	}
	c := s.Config.GPU
	return &report.GPUSettings{Driver: lockedDriver(s), Cards: max(had, has), TimeSlices: c.TimeSlices, MIG: c.MIG.Strategy}, nil
}

// countCards are the cards that this host had by the settings that are there, and has on
// its bus. A command that was run for something else must not forget one that is lost.
func countCards(s *site.Site) (had, has int, err error) {
	cards, err := gpu.Setup{Host: s.Machine.Host}.FreeCards()
	if err != nil {
		return 0, 0, err
	}
	text, err := fs.ReadFile(s.Machine.Host.FS(), strings.TrimPrefix(site.ReportFile, "/"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, len(cards), nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read how many cards this host had: %w", err)
	}
	var was report.Settings
	if err := json.Unmarshal(text, &was); err != nil {
		return 0, 0, advice.Add(fmt.Errorf("read %s: %w", site.ReportFile, err), "remove that file and run the same command again: it writes it")
	}
	if was.GPU != nil {
		had = was.GPU.Cards
	}
	return had, len(cards), nil
}

// lostCards says how many cards this host had and has; "" where it has them all.
func lostCards(s *site.Site) string {
	if !s.Node.Has(config.GPU) {
		return ""
	}
	had, has, err := countCards(s)
	if err != nil || has >= had { // GPUSettings tells the error
		return ""
	}
	return fmt.Sprintf("%s had %s, and has %d on its bus: airgap verify goes on to miss the others. To have it count anew, where some were taken out: rm %s there, then the same command again", s.Node.Name, ui.Count(had, "card"), has, site.ReportFile)
}
