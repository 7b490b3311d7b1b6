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

// GPUSettings returns the GPUs that the report of this host expects: the current GPUs, and at
// least their earlier number. nil for a node without the role gpu.
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

// countCards returns the number of GPUs in the current settings of this host, and the number on
// its bus. A command for another purpose must not forget a lost GPU.
func countCards(s *site.Site) (had, has int, err error) {
	cards, err := gpu.Setup{Host: s.Machine.Host}.FreeGPUs()
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
	return fmt.Sprintf("%s had %s and has %d on its bus: airgap verify reports the others as missing. If GPUs were removed, run rm %s there, then the same command again", s.Node.Name, ui.Count(had, "GPU"), has, site.ReportFile)
}
