package facts

import (
	"context"
	"errors"
	"io/fs"
)

// Firmware is the BIOS or UEFI of the host, from its DMI table.
type Firmware struct {
	Product string `yaml:"product,omitempty" json:"product,omitempty"` // name of the server: "PowerEdge R650"
	Version string `yaml:"version,omitempty" json:"version,omitempty"`
}

func readFirmware(_ context.Context, r reader, f *Facts) error {
	for path, field := range map[string]*string{"product_name": &f.Firmware.Product, "bios_version": &f.Firmware.Version} {
		text, err := r.optional("sys/class/dmi/id/" + path)
		if errors.Is(err, fs.ErrPermission) { // by a site's rule: no check needs it
			continue
		}
		if err != nil {
			return err
		}
		*field = text
	}
	return nil
}
