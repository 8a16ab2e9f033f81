from lanewise.reductions import nanargmax as nanargmax, nanargmin as nanargmin, nancumprod as nancumprod, nancumsum as nancumsum, nanmax as nanmax, nanmean as nanmean
from lanewise.reductions import nanmin as nanmin, nanprod as nanprod, nanstd as nanstd, nansum as nansum, nanvar as nanvar
