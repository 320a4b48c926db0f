-- Cell formatting. A cell with a published counterpart has a bound, the worst value that still reaches it.
-- If rounding would change the comparison with the bound, more digits are printed.

create macro at_bound_or_better(value, bound, lower_is_better) as
    case when lower_is_better then value <= bound else value >= bound end;

create macro rounding_hides(value, bound, lower_is_better, decimals) as
    coalesce(
        at_bound_or_better(format('{:.{}f}', value, decimals)::double, bound, lower_is_better)
        != at_bound_or_better(value, bound, lower_is_better),
        false
    );

create macro deciding_decimals(value, bound, lower_is_better, decimals) as
    coalesce(
        list_filter(
            range(decimals, decimals + 6), lambda d: not rounding_hides(value, bound, lower_is_better, d)
        )[1],
        decimals + 6
    );

-- `mean ± std` as text; the mean alone for a single seed.
create macro mean_and_std(mean, std, decimals) as
    case when mean is null then null
         when std is null then format('{:.{}f}', mean, decimals)
         else format('{:.{}f} ± {:.{}f}', mean, decimals, std, decimals)
    end;

create macro printed_cell(mean, std, bound, lower_is_better, decimals) as
    mean_and_std(mean, std, deciding_decimals(mean, bound, lower_is_better, decimals));
