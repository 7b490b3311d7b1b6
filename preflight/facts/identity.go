package facts

import (
	"context"
	"errors"
	"io/fs"
)

// Identity distinguishes this host from its clones.
type Identity struct {
	MachineID string `yaml:"machineID" json:"machineID"`
	// ProductUUID is from the firmware; "" if there is none or only root can read it.
	ProductUUID string `yaml:"productUUID,omitempty" json:"productUUID,omitempty"`
}

func readIdentity(_ context.Context, r reader, f *Facts) error {
	var err error
	if f.Identity.MachineID, err = r.optional("etc/machine-id"); err != nil {
		return err
	}
	f.Identity.ProductUUID, err = r.optional("sys/class/dmi/id/product_uuid")
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}
