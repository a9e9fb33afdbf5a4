package native

import (
	"tune/kernels"
	"tune/space"
)

// Choices are the points of a family at a shape. A Spec embeds them.
type Choices struct {
	space   *space.Space
	presets []kernels.Preset
}

// Choose makes the space, and then the presets, which may ask for the space.
func (c *Choices) Choose(newSpace func() (*space.Space, error), newPresets func() ([]kernels.Preset, error)) (err error) {
	if c.space, err = newSpace(); err != nil {
		return err
	}
	c.presets, err = newPresets()
	return err
}

// Space returns the points of the shape on this machine.
func (c *Choices) Space() *space.Space { return c.space }

// Presets returns the baseline and the documented points to start from.
func (c *Choices) Presets() []kernels.Preset { return c.presets }
